"""Builds the kernels of this folder with a generated main and runs each under the tools of compute-sanitizer.

Usage, on a machine with a GPU: python3 sanitize.py FOLDER [--jobs N] [--tools LIST] [--only REGEX] [--plain SECONDS]
[--until SECONDS] [FILE.cu...]. Writes FOLDER/result.tsv (kernel, tool, kind, line), FOLDER/raw.txt, and FOLDER/sums.tsv: of right kernels that
ran plainly, a sum of each buffer's bytes. Runs that share the GPU are slow to start and to end: plain runs need --jobs 1.
The rows that are not clean are kept as sanitizer.tsv here: grep -vP "\\tplain\\t|\\tclean\\t" result.tsv > sanitizer.tsv
Both tables are read packed: zstd -19 --rm sums.tsv sanitizer.tsv
"""
import argparse, os, re, shutil, subprocess, tempfile, threading, time
from concurrent.futures import ThreadPoolExecutor
BEGIN = time.time()
PARSER = argparse.ArgumentParser()
PARSER.add_argument("out")
PARSER.add_argument("files", nargs="*")
PARSER.add_argument("--jobs", type=int, default=12)
PARSER.add_argument("--tools", default="plain,memcheck,racecheck,initcheck,synccheck")
PARSER.add_argument("--only", default="")
PARSER.add_argument("--plain", type=float, default=3)
PARSER.add_argument("--until", type=float, default=205)
ARGS = PARSER.parse_intermixed_args()
DEADLINE = BEGIN + ARGS.until
OUT = ARGS.out
HERE = os.path.dirname(os.path.abspath(__file__))
NVCC = os.environ.get("NVCC", shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
TOOLS = ARGS.tools.split(",")
SANITIZER = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
BUILD = tempfile.mkdtemp()
CTYPE = {"f32": "float", "i32": "int", "u8": "unsigned char"}

HEAD = r'''
#include <cstdio>
#include <cstring>
#include <vector>
template <class T> std::vector<T> values(size_t n, bool whole) {
    std::vector<T> v(n);
    unsigned state = 1;
    for (auto &x : v) { state = state * 1664525u + 1013904223u; x = (T)((int)((state >> 24) % 17u) - (whole ? 0 : 8)); }
    return v;
}
bool plain; // No tool watches: what nobody writes becomes zero.
std::vector<std::pair<void *, size_t>> buffers;
void print_sums() {
    for (auto &[p, bytes] : buffers) {
        std::vector<unsigned char> v(bytes);
        cudaMemcpy(v.data(), p, bytes, cudaMemcpyDeviceToHost);
        unsigned long long sum = 0;
        for (unsigned char byte : v) sum = sum * 31 + byte;
        printf("sum %llx\n", sum);
    }
}
template <class T> T *buffer(size_t n, const char *how) {
    T *p = nullptr;
    cudaMalloc(&p, n * sizeof(T));
    buffers.push_back({p, n * sizeof(T)});
    if (!strcmp(how, "out")) {
        if (plain) cudaMemset(p, 0, n * sizeof(T));
        return p;
    }
    auto v = values<T>(n, !std::is_same<T, float>::value);
    if (!strcmp(how, "zeros")) memset(v.data(), 0, n * sizeof(T));
    cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}
int main(int argc, char **argv) {
    cudaError_t started = cudaErrorInvalidValue;
    plain = argc > 2;
'''
TAIL = r'''
    cudaError_t end = cudaDeviceSynchronize();
    if (plain && end == cudaSuccess) print_sums();
    printf("launch: %s; end: %s\n", cudaGetErrorName(started), cudaGetErrorName(end));
    return end != cudaSuccess;
}
'''

def main_for(file, text):
    cases, body, launch = [], [], ""
    for line in text.split("\n"):
        if line.startswith("// launch: "):
            launch = line[len("// launch: "):]
        m = re.search(r'extern "C" __global__ void (\w+)\(', line)
        if not m:
            continue
        name, args, lines = m[1], [], []
        cooperative = launch.startswith("cooperative ")
        launch = launch.removeprefix("cooperative ")
        config = dict(x.split("=", 1) for x in launch.split(" ")[:3])
        for i, item in enumerate(launch.split(" ")[3:]):
            how, value = item.split("=", 1)
            if value == "null":
                lines.append(f"void *a{i} = nullptr;")
            elif how in ("in", "inout", "zeros", "out"):
                ty, n = re.fullmatch(r"(\w+)\[(\d+)\]", value).groups()
                lines.append(f'auto *a{i} = buffer<{CTYPE[ty]}>({n}, "{how}");')
            else:
                lines.append(f"int a{i} = {value};")
            args.append(f"&a{i}")
        grid, block = (f"dim3{config[k]}" for k in ("grid", "block"))
        body.append(f'    if (!strcmp(argv[1], "{name}")) {{ {" ".join(lines)} void *args[] = {{{", ".join(args)}}};'
                    f' started = cudaLaunch{"Cooperative" if cooperative else ""}Kernel((void *){name}, {grid}, {block}, args, {config["shared"]}, 0); }}')
        cases.append(name)
    path = os.path.join(BUILD, "main_" + file)
    with open(path, "w") as f:
        f.write(f'#include <type_traits>\n#include "{file}"\n' + HEAD + "\n".join(body) + TAIL)
    return path, cases

def build(file):
    path, cases = main_for(file, open(os.path.join(HERE, file)).read())
    binary = os.path.join(BUILD, file[:-3])
    done = subprocess.run([NVCC, "-std=c++17", "-arch=" + os.environ.get("ARCH", "sm_90"), "-lineinfo", "-I", HERE, path, "-o", binary],
                          capture_output=True, text=True)
    if done.returncode:
        print(done.stdout, done.stderr)
    return [(file, binary, name) for name in cases] if done.returncode == 0 else []

# (kind, line) of each error: the line with the kind, and the first place named after it.
KINDS = re.compile(r"Invalid __\w+__ \w+|Misaligned|Uninitialized __\w+__ memory \w+|Barrier error detected[^\n]*|"
                   r"(?:Error|Warning): Race[^\n]*|(?:Error|Warning|Info): [^\n]*hazard[^\n]*|Program hit \w+|Unused memory[^\n]*|"
                   r"Malloc/Free Error encountered : [^\n]*|Stack overflow|Trace/breakpoint trap|Invalid PC|"
                   r"Race reported[^\n]*|Device-side assertion[^\n]*|and (?:Read|Write|Atomic)[^\n]*|is misaligned")
PLACE = re.compile(r"(?:in|at) [^\n]*?(\w+\.cu):(\d+)")
HEADER = re.compile(r"(?:in|at) [^\n]*\w+\.h:\d+")

def parse(text, file):
    found, headers, kind = {}, {}, None
    for line in text.split("\n"):
        if not line.startswith("========="):
            continue
        m = KINDS.search(line)
        if m:
            kind = m[0]
            if kind == "is misaligned":
                found = {(k + " misaligned" if i == len(found) - 1 else k, l): c for i, ((k, l), c) in enumerate(found.items())}
                continue
            kind = re.sub(r"access at.*|in \S+\.cu:\d+.*|\d+ hazards.*", "", kind).strip()
            if kind.startswith("Program hit"):
                found[(kind, "-")] = 1
                kind = None
                continue
        p = PLACE.search(line)
        if p and kind and p[1] == file:
            found[(kind, p[2])] = found.get((kind, p[2]), 0) + 1
            kind = None
        elif kind and HEADER.search(line):
            headers[(kind + " in headers", "-")] = 1
    return list(found or headers)

lock, rows, raw, sums = threading.Lock(), [], [], []

def one(job):
    (file, binary, name), tool = job
    limit = ARGS.plain if tool == "plain" else 10
    if time.time() + limit > DEADLINE:
        text, result = "", [("not run", "-")]
    else:
        command = [binary, name] + (["sums"] if tool == "plain" else [])
        if tool != "plain":
            command = [SANITIZER, "--tool", tool, "--print-limit", "40"] + command
        env = dict(os.environ, CUDA_MODULE_LOADING="LAZY")
        done = subprocess.run(["timeout", "-k", "1", "-s", "KILL", str(limit)] + command, capture_output=True, text=True,
                              errors="replace", env=env)
        text = done.stdout + done.stderr
        result = parse(text, file)
        if done.returncode in (124, 137, -9):
            result.append(("timeout", "-"))
        if tool == "plain":
            m = re.search(r"launch: .*", text)
            result = [(m[0] if m else f"exit {done.returncode}", "-")] if not result else result
        result = result or [("clean" if "ERROR SUMMARY: 0" in text or "RACECHECK SUMMARY: 0" in text else f"exit {done.returncode}", "-")]
    with lock:
        rows.extend((name, tool, kind, line) for kind, line in result)
        raw.append(f"##### {name} {tool}\n{text[:4000]}\n")
        if tool == "plain" and name.startswith("good_") and (of_buffers := re.findall(r"^sum (\w+)", text, re.M)):
            sums.append((name, *of_buffers))

def report():
    with lock:
        with open(os.path.join(OUT, "result.tsv"), "w") as f:
            f.writelines("\t".join(row) + "\n" for row in sorted(rows))
        with open(os.path.join(OUT, "raw.txt"), "w") as f:
            f.writelines(sorted(raw))
        with open(os.path.join(OUT, "sums.tsv"), "w") as f:
            f.writelines("\t".join(row) + "\n" for row in sorted(sums))

def main():
    files = ARGS.files or sorted(f for f in os.listdir(HERE) if f.endswith(".cu"))
    with ThreadPoolExecutor(len(files)) as pool:
        cases = [case for cases in pool.map(build, files) for case in cases if re.search(ARGS.only, case[2])]
    print(len(cases), "kernels built in", round(time.time() - BEGIN), "s", flush=True)
    jobs = [(case, tool) for case in cases for tool in TOOLS]
    text = {f: open(os.path.join(HERE, f)).read() for f in files}
    def slow(job):
        body = text[job[0][0]].split(job[0][2] + "(", 1)[1].split("// launch", 1)[0]
        return any(kind in body for kind in ("EndlessLoop", "BarrierDivergence", "NeverCompletes"))
    jobs.sort(key=slow)
    with ThreadPoolExecutor(ARGS.jobs) as pool:
        for i, _ in enumerate(pool.map(one, jobs)):
            if i % 50 == 0:
                report()
    report()
    print(len(rows), "rows in", round(time.time() - BEGIN), "s;", sum(r[2] == "not run" for r in rows), "not run")

main()
