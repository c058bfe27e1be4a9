// The state of dynamic loss scaling, for puzzle 38.
#pragma once

struct LossScale {
    float scale;    // the loss is multiplied by this before the backward pass
    int good_steps; // steps without an overflow since the scale last changed
    int interval;   // after so many good steps in a row the scale doubles
};
