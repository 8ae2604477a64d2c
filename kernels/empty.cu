// A kernel that does nothing, to measure the cost of a launch.
//
// Called by Device::launch_time (src/engine/cuda/device.rs), which divides the difference between
// the times of 1000 and of 200 launches by 800, and by src/engine/cuda/table_free/gpu.rs, which
// times as many launches as a propagation has. Launch: any grid and block.

extern "C" __global__ void empty()
{
}
