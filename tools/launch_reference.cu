// What a C++ program sees of empty launches: the bar for the suite's own figures. Seconds a launch, best of ROUNDS, for
// back to back, launch + synchronize, and a graph of LAUNCHES nodes; then GB/s of cudaMemcpyAsync on the card.
//
//   nvcc -O2 -o launch_reference launch_reference.cu && ./launch_reference [bytes]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int LAUNCHES = 1000, ROUNDS = 30;

#define CHECK(call)                                                                \
    do {                                                                           \
        const cudaError_t error = (call);                                          \
        if (error != cudaSuccess) {                                                \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));    \
            std::exit(1);                                                          \
        }                                                                          \
    } while (0)

__global__ void empty() {}

template <class Work>
double median_seconds(cudaStream_t stream, Work work) {
    std::vector<double> seconds;
    for (int round = 0; round < ROUNDS; ++round) {
        CHECK(cudaStreamSynchronize(stream));
        const auto began = std::chrono::steady_clock::now();
        work();
        CHECK(cudaStreamSynchronize(stream));
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[ROUNDS / 2];
}

int main(int count, char** arguments) {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const auto queue = [&] {
        for (int i = 0; i < LAUNCHES; ++i) empty<<<1, 1, 0, stream>>>();
    };
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    queue();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&replay, graph, 0));
    CHECK(cudaGraphUpload(replay, stream));
    std::printf("launch %.4e\n", median_seconds(stream, queue) / LAUNCHES);
    std::printf("launch_sync %.4e\n", median_seconds(stream, [&] {
                                          for (int i = 0; i < LAUNCHES; ++i) {
                                              empty<<<1, 1, 0, stream>>>();
                                              CHECK(cudaStreamSynchronize(stream));
                                          }
                                      }) / LAUNCHES);
    std::printf("launch_graph %.4e\n", median_seconds(stream, [&] { CHECK(cudaGraphLaunch(replay, stream)); }) / LAUNCHES);
    if (count > 1) {
        const size_t bytes = std::strtoull(arguments[1], nullptr, 10);
        void *from, *to;
        CHECK(cudaMalloc(&from, bytes));
        CHECK(cudaMalloc(&to, bytes));
        CHECK(cudaMemset(from, 1, bytes));
        constexpr int COPIES = 10;
        const double seconds = median_seconds(stream, [&] {
            for (int i = 0; i < COPIES; ++i) CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
        });
        std::printf("memcpy %.4e\n", 2.0 * bytes * COPIES / seconds);
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
