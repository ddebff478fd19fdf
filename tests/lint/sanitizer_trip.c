/* Reads one past the end of an array on the heap: proves that the sanitizers are on. */
#include <stdlib.h>

int main(int argc, char **argv)
{
    (void)argv;
    const size_t size = (size_t)argc;
    char *bytes = calloc(size, 1);
    if (bytes == NULL)
        return 0;
    const volatile char *view = bytes;
    const int past = view[size];
    free(bytes);
    return past;
}
