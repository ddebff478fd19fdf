/* NVML without a GPU, as a shared library for TSW_LIBNVML. It does what the files of a folder say,
 * which TSW_FAKE_NVML names:
 *     script    read at every call; a rule a line, '#' starts a comment, the last that fits counts:
 *               [gpu=UUID] KEY[@N] VALUE..
 *               @N: from the N-th reading of that key by a process on (1, the default: always)
 *     locked    made by a lock: the MHz that all GPUs run at
 *     log       made by calls that change something: "lock UUID MHZ", "unlock UUID", and what came
 *               of them, a line each
 * Keys: clock MHZ, memory MHZ, max MHZ, power WATT, temperature DEGREES, reasons MASK,
 * energy BASE MJ READINGS (BASE, and MJ more with every so many readings: 0 400 1),
 * supported MHZ.., permission yes|no, processes PID.. (besides the caller's own), corrected N,
 * uncorrected N (errors so far), xid N.. (once, each), mig PROFILE (UUID is that of an instance),
 * absent yes (no such GPU), gone yes (it is lost), stuck yes (a lock changes nothing),
 * slow MS (each call takes so long, below 1000),
 * FUNCTION RESULT (what that function returns instead).
 * fake_nvml_old is a version that lacks what came late. */
#ifndef TSW_TESTS_FAKE_NVML_H
#define TSW_TESTS_FAKE_NVML_H

/* Rises with every call of the thread that asks. */
unsigned fake_nvml_calls(void);

#endif
