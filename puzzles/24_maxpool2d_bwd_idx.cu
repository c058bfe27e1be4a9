// Puzzle 24: backward pass of max pooling, by the index that the forward pass stored
//
//   dX[plane, i] = sum of dY[plane, o] over the outputs o with idx[plane, o] = i
//
// idx is what puzzle 23 stores: the place, in its plane, of the element that won the
// window. Windows may overlap, so an element may have won several, or none. An index of
// -1 is a window without a winner; its gradient goes nowhere.
//
// Tensors, row-major:
//   dX       (planes, in_plane)   in_plane = H*W, for each sample and channel a plane
//   dY, idx  (planes, out_plane)  out_plane = H_out*W_out

// Launched first, in blocks of 256 threads, with one thread for each element: nothing
// else has set dX to zero.
__global__ void zero_gradients(float* gradients, int n)
{
    // TODO 1: set gradients[0] to gradients[n-1] to zero, one thread each.
}

// One thread takes care of one element of dY. The grader launches blocks of 256
// threads, ceil(planes*out_plane / 256) of them.
__global__ void maxpool2d_bwd_idx(const float* dY, const int* idx, float* dX,
                                  int planes, int out_plane, int in_plane)
{
    // TODO 2: find this thread's number; leave if no element of dY has it.

    // TODO 3: look up the winner; leave if there is none.

    // TODO 4: add the gradient to the winner, in the plane of this thread. Another
    //         thread may add to the same element at the same time.
}
