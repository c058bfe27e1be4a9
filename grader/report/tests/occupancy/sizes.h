// Block sizes and dynamic shared memory of the tables.
static const int THREADS[] = {1,   32,  33,  64,  96,  100, 128, 160, 192, 224, 256, 288, 320,
                              384, 448, 512, 544, 576, 640, 704, 768, 800, 896, 960, 1000, 1024};
static const int DYNAMIC[] = {0,     1,     128,   1000,  1024,  3000,  4096,   8192,   12345,  16384,  20000,
                              32768, 40000, 49152, 56000, 75000, 99000, 101376, 115000, 116736, 166912, 232448};

static void head() {
    printf("sm\tregisters\tstatic\tbarriers\tthreads");
    for (int dynamic : DYNAMIC) printf("\t%d", dynamic);
    printf("\n");
}
