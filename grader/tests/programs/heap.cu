// malloc and new in kernels; lists that live from launch to launch.
#include <cstdio>

struct Node { int value; Node* next; };
__device__ Node* list = nullptr;

__global__ void push(int value)
{
    Node* node = new Node;
    node->value = value;
    node->next = list;
    list = node;
}

__global__ void drain(int* out)
{
    int i = 0;
    while (list) {
        Node* next = list->next;
        out[i++] = list->value;
        delete list;
        list = next;
    }
}

int main()
{
    int host[3], *out;
    cudaMalloc(&out, sizeof host);
    for (int i = 1; i <= 3; i++) push<<<1, 1>>>(10 * i);
    drain<<<1, 1>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%d %d %d\n", host[0], host[1], host[2]);
    cudaFree(out);
}
