// A template that NVRTC compiles while the program runs, and source that does not compile.
#include <cstdio>
#include <cstring>
#include <nvrtc.h>
#include <vector>

int main()
{
    const char* source = "#include \"factor.h\"\n"
                         "namespace inner { __constant__ int offset[2] = {3, 4}; }\n"
                         "template <class T> __global__ void scale(T* x) { x[threadIdx.x] = FACTOR * x[threadIdx.x] + inner::offset[WHICH]; }\n";
    const char *header = "#define FACTOR 10\n", *name = "factor.h";
    nvrtcProgram program;
    nvrtcCreateProgram(&program, source, "scale.cu", 1, &header, &name);
    std::printf("%d %d\n", nvrtcAddNameExpression(program, "scale<double>"), nvrtcAddNameExpression(program, "&inner::offset"));
    const char* options[] = {"--gpu-architecture=compute_75", "-DWHICH=1", "--std=c++17"};
    std::printf("%s\n", nvrtcGetErrorString(nvrtcCompileProgram(program, 3, options)));
    const char *lowered = nullptr, *variable = nullptr;
    nvrtcGetLoweredName(program, "scale<double>", &lowered);
    nvrtcGetLoweredName(program, "&inner::offset", &variable);
    std::printf("%s %s\n", lowered, variable);
    std::printf("%d", nvrtcGetLoweredName(program, "scale<int>", &variable));
    std::printf(" %d\n", variable == nullptr);
    size_t size = 0;
    nvrtcGetPTXSize(program, &size);
    std::vector<char> ptx(size);
    nvrtcGetPTX(program, ptx.data());
    std::printf("%d\n", std::strlen(ptx.data()) + 1 == size);

    double host[4] = {0, 1, 2, 3};
    cudaLibrary_t library;
    cudaKernel_t kernel;
    double* x;
    cudaLibraryLoadData(&library, ptx.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    cudaLibraryGetKernel(&kernel, library, lowered);
    cudaMalloc(&x, sizeof host), cudaMemcpy(x, host, sizeof host, cudaMemcpyDefault);
    void* arguments[] = {&x};
    std::printf("%d\n", cudaLaunchKernel((void*)kernel, dim3(1), dim3(4), arguments, 0, nullptr));
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDefault);
    std::printf("%g %g %g %g\n", host[0], host[1], host[2], host[3]);
    cudaFree(x), cudaLibraryUnload(library);
    std::printf("%d\n", nvrtcDestroyProgram(&program));

    nvrtcCreateProgram(&program, "__global__ void k() { missing = 1; }", nullptr, 0, nullptr, nullptr);
    std::printf("%s\n", nvrtcGetErrorString(nvrtcCompileProgram(program, 0, nullptr)));
    nvrtcGetProgramLogSize(program, &size);
    std::vector<char> log(size);
    nvrtcGetProgramLog(program, log.data());
    std::printf("%d\n", std::strstr(log.data(), "\"missing\" is undefined") != nullptr);
    nvrtcDestroyProgram(&program);
}
