// A list of ten thousand nodes in managed memory, each allocated by itself.
#include <cstdio>

struct Node {
    Node* next;
    int value;
};

__global__ void walk(Node* list, int* sum)
{
    for (Node* node = list; node; node = node->next) {
        *sum += node->value;
        node->value = -node->value;
    }
}

int main()
{
    const int N = 10000;
    int* sum;
    cudaMallocManaged(&sum, sizeof *sum);
    for (int round = 0; round < 2; round++) {
        *sum = 0;
        Node* list = nullptr;
        for (int i = 0; i < N; i++) {
            Node* node;
            cudaError_t error = cudaMallocManaged(&node, sizeof(Node));
            if (error != cudaSuccess) {
                std::printf("node %d: %s\n", i, cudaGetErrorName(error));
                return 1;
            }
            *node = {list, i % 7 + round};
            list = node;
        }
        walk<<<1, 1>>>(list, sum);
        std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
        long host = 0;
        while (list) {
            host += list->value;
            Node* next = list->next;
            cudaFree(list);
            list = next;
        }
        std::printf("round %d: %d on the device, %ld on the host\n", round, *sum, host);
    }
    cudaFree(sum);
    std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
