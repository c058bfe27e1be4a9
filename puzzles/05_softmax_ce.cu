// Puzzle 05: softmax, cross-entropy loss, and the gradient of both together
//
//   probs[b,c]       = exp(logits[b,c] - m[b]) / sum over d of exp(logits[b,d] - m[b])
//                      where m[b] is the largest of logits[b,0], logits[b,1], ...
//   losses[b]        = - sum over c of labels[b,c] * log(max(probs[b,c], 1e-10))
//   grad_logits[b,c] = probs[b,c] - labels[b,c]
//
// Tensors, row-major (the last index varies fastest):
//   logits, probs, labels, grad_logits  (batch, num_classes)
//   losses                              (batch)
//
// Each row of labels adds up to 1; usually 1 for the right class and 0 elsewhere.
//
// In all three kernels one thread does a whole sample. The grader launches blocks of
// 256 threads, ceil(batch / 256) of them.

__global__ void softmax_forward(const float* logits, float* probs, int batch,
                                int num_classes)
{
    // TODO 1: find this thread's sample; leave if there is none.

    // TODO 2: find the largest logit of the sample.

    // TODO 3: sum the exponentials of the logits, each less the largest one.

    // TODO 4: store each exponential divided by the sum.
}

__global__ void cross_entropy_loss(const float* probs, const float* labels,
                                   float* losses, int batch, int num_classes)
{
    // TODO 5: find this thread's sample; leave if there is none.

    // TODO 6: sum over the classes the label times the logarithm of the probability,
    //         which is taken to be at least 1e-10; store the negative sum.
}

__global__ void softmax_ce_backward(const float* probs, const float* labels,
                                    float* grad_logits, int batch, int num_classes)
{
    // TODO 7: find this thread's sample; leave if there is none.

    // TODO 8: for every class, store the probability minus the label.
}
