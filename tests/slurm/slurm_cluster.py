"""A real Slurm on one machine: munged, slurmctld, and slurmd's that each live in namespaces of their
own, as a node with its own host name, /dev/shm and processes. Must be started by `enter`, in whose
namespaces nothing of it can be seen from outside, nor outlive it."""
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "scontrol", "mpirun", "unshare", "ip", "bash")
INNER = "TSW_TEST_SLURM_INNER"
PATIENCE_S = 180  # what is to come must be there by then, on a machine however busy


def missing():
    """Why there can be no cluster here; empty: there can."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    absent = [program for program in PROGRAMS if shutil.which(program, path=path) is None]
    if os.getuid() != 0:
        return "not root"
    if absent:
        return f"not installed: {' '.join(absent)} (tools/setup.sh slurm)"
    probe = subprocess.run(["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "true"],
                           capture_output=True, text=True, timeout=30)
    return f"no namespaces: {probe.stderr.strip()}" if probe.returncode else ""


def enter():
    """Starts this program once more, in namespaces that end with it. Returns in the new one only."""
    if os.environ.get(INNER):
        return
    os.environ[INNER] = "1"
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    os.execvp("unshare", ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--mount-proc",
                          "--kill-child=KILL", sys.executable, *sys.argv])


def await_true(what, question, seen, seconds=PATIENCE_S):
    """Asks until the answer is true. seen: tells what there is instead, when time is over."""
    end = time.monotonic() + seconds
    while not question():
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} s still not: {what}; there is: {seen()}")
        time.sleep(0.1)


CONF = """\
ClusterName=test
SlurmctldHost=head(127.0.0.1)
SlurmctldPort=6817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/%n/spool
TmpFS={root}/%n/tmp
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/%n/slurmd.pid
SlurmctldLogFile={root}/log/slurmctld.log
SlurmdLogFile={root}/log/%n.log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=2,sched_min_interval=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
KillWait=10
SlurmdTimeout=90
SlurmctldTimeout=90
MessageTimeout=30
MinJobAge=3600
"""


class Cluster:
    """Nodes node1, node2, .. with GPUs as in ["h200:2", "h200:1,a100:1"], and two partitions: what runs
    in batch is preempted by urgent."""

    def __init__(self, root, gpus):
        self.root = Path(root)
        self.gpus = gpus
        self.nodes = {}
        self.services = []

    def __enter__(self):
        for name in ("log", "state", "munge", "dev", "tmp"):
            (self.root / name).mkdir(parents=True)
        self.root.chmod(0o755)
        self._be_head()
        self._write_conf()
        self._start_munge()
        os.environ["SLURM_CONF"] = str(self.root / "slurm.conf")
        self._service("slurmctld", ["slurmctld", "-D", "-c"])
        await_true("slurmctld answers", lambda: run("scontrol", "ping", check=False).returncode == 0,
                   lambda: (self.root / "log/slurmctld.out").read_text())
        for number in range(1, len(self.gpus) + 1):
            self.boot(f"node{number}")
        self.await_idle()
        return self

    def __exit__(self, *_):
        for name in list(self.nodes):
            self.crash(name)
        for service in self.services:
            service.terminate()
        for service in self.services:
            service.wait(timeout=PATIENCE_S)

    def _be_head(self):
        names = ["localhost", "head", *(f"node{i + 1}" for i in range(len(self.gpus)))]
        (self.root / "hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in names))
        run("hostname", "head")
        run("mount", "--bind", self.root / "hosts", "/etc/hosts")
        run("ip", "link", "set", "lo", "up")
        # A resolver with AI_ADDRCONFIG, as Slurm's, needs more than 127.0.0.1.
        run("ip", "addr", "add", "127.0.0.2/8", "dev", "lo")

    def _write_conf(self):
        gres, nodes = "", ""
        for number, gpus in enumerate(self.gpus, 1):
            count = 0
            nodes += (f"NodeName=node{number} NodeHostname=node{number} NodeAddr=127.0.0.1 "
                      f"Port={6820 + number} CPUs=8 RealMemory=16000 "
                      f"Gres={','.join(f'gpu:{one}' for one in gpus.split(','))}\n")
            for kind, many in (one.split(":") for one in gpus.split(",")):
                for _ in range(int(many)):
                    # Must be a character device; the digits become CUDA_VISIBLE_DEVICES.
                    device = self.root / "dev" / f"gpu{count}"
                    if not device.is_symlink():
                        device.symlink_to("/dev/null")
                    gres += f"NodeName=node{number} Name=gpu Type={kind} File={device}\n"
                    count += 1
        partitions = ("PartitionName=batch Nodes=ALL Default=YES PriorityTier=1 State=UP\n"
                      "PartitionName=urgent Nodes=ALL PriorityTier=10 State=UP\n")
        (self.root / "gres.conf").write_text(gres)
        (self.root / "cgroup.conf").write_text("CgroupAutomount=no\n")
        (self.root / "slurm.conf").write_text(CONF.format(root=self.root) + nodes + partitions)

    def _start_munge(self):
        folder = self.root / "munge"
        key = folder / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        self._service("munged", ["munged", "--foreground", "--force", f"--socket={folder}/socket",
                                 f"--key-file={key}", f"--log-file={folder}/log",
                                 f"--pid-file={folder}/pid", f"--seed-file={folder}/seed"])
        await_true("munged listens", (folder / "socket").exists, lambda: list(folder.iterdir()))

    def _service(self, name, command):
        with open(self.root / "log" / f"{name}.out", "w") as log:
            self.services.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def boot(self, name):
        """Brings up a node with an empty spool."""
        home = self.root / name
        shutil.rmtree(home, ignore_errors=True)
        for folder in ("spool", "tmp"):
            (home / folder).mkdir(parents=True)
        # bash stays as the first process of the node and reaps what loses its parent.
        script = (f"hostname {name}; mount -t tmpfs -o size=256m tmpfs /dev/shm; "
                  f"slurmd -D -N {name} & wait")
        with open(self.root / "log" / f"{name}.out", "a") as log:
            self.nodes[name] = subprocess.Popen(
                ["unshare", "--uts", "--ipc", "--mount", "--pid", "--fork", "--mount-proc",
                 "--kill-child=KILL", "bash", "-c", script],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def crash(self, name):
        """All of a node ends at once, as by a power loss."""
        outer = self.nodes.pop(name)
        for child in Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split():
            os.kill(int(child), 9)  # the node's first process: the kernel ends the others with it
        outer.wait(timeout=PATIENCE_S)

    def hide(self, paths):
        """Replaces files and folders by empty ones, here and on all nodes, which boot anew."""
        nothing = self.root / "nothing"
        nothing.mkdir()
        for path in paths:
            run("mount", "--bind", nothing if path.is_dir() else "/dev/null", path)
        for name in list(self.nodes):
            self.crash(name)
            self.boot(name)
        self.await_idle()

    def states(self):
        return run("sinfo", "-h", "-N", "-p", "batch", "-o", "%T").stdout.split()

    def await_idle(self):
        await_true("all nodes are idle", lambda: self.states() == ["idle"] * len(self.gpus), self.states)

    def logs(self):
        for path in sorted((self.root / "log").glob("*.log")):
            text = path.read_text(errors="replace").splitlines()
            print(f"---- the end of {path.name}", *text[-25:], sep="\n")


def run(*words, check=True, env=None, cwd=None, limit_s=PATIENCE_S):
    """A command that must end in time."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=limit_s,
                          env=env, cwd=cwd, stdin=subprocess.DEVNULL, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: exit code {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
    return done


class Job:
    """A job in the queue, its tasks when it is an array."""

    def __init__(self, number):
        self.number = number

    def show(self):
        text = run("scontrol", "show", "job", "-o", self.number).stdout.splitlines()[0]
        return dict(re.findall(r"(\w+)=(\S*)", text))

    def state(self):
        return self.show()["JobState"]

    def tell(self):
        shown = self.show()
        words = ("JobState", "Reason", "ExitCode", "Restarts", "RunTime", "StartTime", "NodeList")
        return " ".join(f"{word}={shown.get(word)}" for word in words)

    def is_over(self):
        return self.state() not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED",
                                    "REQUEUED")

    def await_running(self):
        await_true(f"job {self.number} runs", lambda: self.state() == "RUNNING", self.tell)

    def await_end(self):
        """Its state and exit code, as "COMPLETED", 0."""
        await_true(f"job {self.number} is over", self.is_over, self.tell)
        shown = self.show()
        return shown["JobState"], int(shown["ExitCode"].split(":")[0])

    def await_requeued(self):
        def is_back():
            shown = self.show()
            return shown["JobState"] == "PENDING" and int(shown["Restarts"]) > 0

        await_true(f"job {self.number} is back in the queue", is_back, self.tell)

    def start_now(self):
        """Slurm lets a requeued job wait for two minutes. Within two seconds a node would still refuse it:
        "Job credential revoked"."""
        run("scontrol", "update", f"jobid={self.number}", "StartTime=now+3")


def processes(*names):
    """The pids of those with one of these names that are not dead, oldest first."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            name, state = re.match(r"\d+ \((.*)\) (\S)", (entry / "stat").read_text()).groups()
        except OSError:
            continue
        if name in names and state != "Z":
            found.append(int(entry.name))
    return sorted(found)
