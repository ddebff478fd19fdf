/* Reads one past the end of an array on the heap: proves that the sanitizers are on. */
#include <stdlib.h>

int main(int argc, char **argv)
{
    (void)argv;
    volatile char *bytes = calloc((size_t)argc, 1);
    if (bytes == NULL)
        return 0;
    char past = bytes[argc];
    free((void *)bytes);
    return past;
}
