// What simple programs use of helper_functions.h, helper_string.h and helper_timer.h of NVIDIA's samples: arguments of the command line such as
// -n=100, a stop watch, and comparisons of arrays.
#ifndef GRADIENT_PUZZLES_HELPER_FUNCTIONS
#define GRADIENT_PUZZLES_HELPER_FUNCTIONS
#include <chrono>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif

// What follows the name of an argument, from its `=` on; null if the argument is not given.
static inline const char* _argument(int argc, const char** argv, const char* name) {
    for (int i = 1; i < argc; i++) {
        const char* word = argv[i] + strspn(argv[i], "-");
        size_t length = strcspn(word, "=");
        if (word != argv[i] && length == strlen(name) && !strncasecmp(word, name, length)) return word + length;
    }
    return NULL;
}
static inline bool checkCmdLineFlag(int argc, const char** argv, const char* name) { return _argument(argc, argv, name) != NULL; }
static inline int getCmdLineArgumentInt(int argc, const char** argv, const char* name) {
    const char* value = _argument(argc, argv, name);
    return value && *value ? atoi(value + 1) : 0;
}
static inline float getCmdLineArgumentFloat(int argc, const char** argv, const char* name) {
    const char* value = _argument(argc, argv, name);
    return value && *value ? (float)atof(value + 1) : 0;
}
static inline bool getCmdLineArgumentString(int argc, const char** argv, const char* name, char** result) {
    const char* value = _argument(argc, argv, name);
    *result = value && *value ? const_cast<char*>(value + 1) : NULL;
    return *result != NULL;
}

class StopWatchInterface {
    typedef std::chrono::steady_clock clock;
    clock::time_point begin;
    double total = 0;
    int sessions = 0;
    bool running = false;

    double current() const { return running ? std::chrono::duration<double, std::milli>(clock::now() - begin).count() : 0; }

public:
    void start() { begin = clock::now(); running = true; }
    void stop() { total += current(); running = false; sessions++; }
    void reset() { total = 0; sessions = 0; begin = clock::now(); }
    float getTime() const { return (float)(total + current()); }
    float getAverageTime() const { return sessions ? (float)(total / sessions) : 0; }
};
static inline bool sdkCreateTimer(StopWatchInterface** timer) { *timer = new StopWatchInterface; return true; }
static inline bool sdkDeleteTimer(StopWatchInterface** timer) { delete *timer; *timer = NULL; return true; }
static inline bool sdkStartTimer(StopWatchInterface** timer) { (*timer)->start(); return true; }
static inline bool sdkStopTimer(StopWatchInterface** timer) { (*timer)->stop(); return true; }
static inline bool sdkResetTimer(StopWatchInterface** timer) { (*timer)->reset(); return true; }
static inline float sdkGetTimerValue(StopWatchInterface** timer) { return (*timer)->getTime(); }
static inline float sdkGetAverageTimerValue(StopWatchInterface** timer) { return (*timer)->getAverageTime(); }

// Is the norm of the difference at most epsilon of the reference's norm?
static inline bool sdkCompareL2fe(const float* reference, const float* data, const unsigned int n, const float epsilon) {
    double error = 0, norm = 0;
    for (unsigned int i = 0; i < n; i++) {
        double difference = (double)reference[i] - data[i];
        error += difference * difference;
        norm += (double)reference[i] * reference[i];
    }
    return norm > 0 && sqrt(error / norm) < epsilon;
}
// Do at most `threshold` of the elements differ by epsilon or more?
template <class T, class S> bool compareData(const T* reference, const T* data, const unsigned int n, const S epsilon, const float threshold) {
    unsigned int wrong = 0;
    for (unsigned int i = 0; i < n; i++) wrong += fabs((double)reference[i] - (double)data[i]) > (double)epsilon;
    return threshold == 0 ? wrong == 0 : wrong < threshold * n;
}
#endif
