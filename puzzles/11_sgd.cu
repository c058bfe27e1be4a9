// Puzzle 11: a step of stochastic gradient descent (SGD), and gradients set to zero
//
//   weights[i]   = weights[i] - lr * gradients[i]
//   gradients[i] = 0
//
// Both kernels work in place: the tensor that they read is the one that they change.
// lr is the learning rate. All tensors have n elements, whatever their shape was.
//
// In both kernels one thread does one element. The grader launches blocks of 256
// threads, ceil(n / 256) of them.

__global__ void sgd_update(float* weights, const float* gradients, float lr, int n)
{
    // TODO 1: find this thread's element; leave if there is none.

    // TODO 2: move the weight against its gradient.
}

__global__ void zero_gradients(float* gradients, int n)
{
    // TODO 3: find this thread's element; leave if there is none.

    // TODO 4: set it to zero.
}
