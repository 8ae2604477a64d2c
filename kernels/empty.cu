// A kernel that does nothing, to measure the cost of a launch.
//
// Called by Device::launch_time (src/engine/cuda/device.rs), which takes the slope between few and many
// launches. Launch: any grid and block.

extern "C" __global__ void empty()
{
}
