// A kernel that does nothing: what a launch costs is the slope between N and 5 N of them.
//
// Launch: any.

extern "C" __global__ void empty()
{
}
