// NVRTC for programs on the virtual machine: the grader, whose process this is, compiles the source with nvcc, as it does any kernel. Of the
// options there are the architecture, macros, folders and those that change nothing here; machine code there is none. A confined program may
// start no process, and so cannot compile.
#include "nvrtc.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

struct _nvrtcProgram {
    struct Name { std::string expression, lowered; };
    std::string source, name, ptx, log;
    std::vector<std::pair<std::string, std::string>> headers;
    std::vector<Name> names;
    bool is_compiled = false;
};

namespace {

// The variables whose values are the names of what the program asked for.
const std::string NAMES = "nvrtc_name_";

std::string read(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

// A folder that is removed with all that is in it.
struct Folder {
    fs::path path;
    Folder() {
        std::string name = (fs::temp_directory_path() / "nvrtc-XXXXXX").string();
        if (mkdtemp(name.data())) path = name;
    }
    ~Folder() {
        std::error_code ignored;
        if (!path.empty()) fs::remove_all(path, ignored);
    }
};

// What the options ask for.
struct Options {
    std::string arch = "75", macros;
    std::vector<std::string> folders;
    std::string unknown;
};

// Options are `--name=value`, `--name value` or `-Xvalue` (NVRTC, "Supported Compile Options").
Options understood(int count, const char* const* options) {
    Options result;
    auto value = [&](int& i, std::initializer_list<std::string> names, std::string* found) {
        std::string option = options[i];
        for (const std::string& name : names) {
            bool is_short = name.size() == 2;
            if (option == name && i + 1 < count) { *found = options[++i]; return true; }
            if (option.compare(0, name.size(), name) || option == name) continue;
            if (is_short || option[name.size()] == '=') { *found = option.substr(name.size() + (option[name.size()] == '=')); return true; }
        }
        return false;
    };
    for (int i = 0; i < count; i++) {
        std::string found, option = options[i];
        if (value(i, {"--gpu-architecture", "-arch"}, &found)) {
            result.arch = found;
        } else if (value(i, {"--define-macro", "-D"}, &found)) {
            size_t is = found.find('=');
            result.macros += "#define " + found.substr(0, is) + " " + (is == std::string::npos ? "1" : found.substr(is + 1)) + "\n";
        } else if (value(i, {"--undefine-macro", "-U"}, &found)) {
            result.macros += "#undef " + found + "\n";
        } else if (value(i, {"--include-path", "-I"}, &found)) {
            result.folders.push_back(found);
        } else if (!value(i, {"--std", "-std", "--optimization-info", "--extra-device-vectorization", "-lineinfo"}, &found)
                   && option != "--generate-line-info" && option != "-lineinfo" && option != "--restrict" && option != "-restrict"
                   && option != "-w" && option != "--disable-warnings") {
            result.unknown = option;
        }
    }
    return result;
}

// Runs the grader's compiler; whether it succeeded.
bool run(const std::vector<std::string>& arguments, const fs::path& out, const fs::path& err) {
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    pid_t child = fork();
    if (child == 0) {
        // Not by `freopen`, which would write what the program has buffered.
        int to = open(out.c_str(), O_WRONLY | O_CREAT, 0600), log = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
        if (dup2(to, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0) execv("/proc/self/exe", pointers.data());
        _exit(127);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// Takes the variables that hold names out of the PTX.
void take_names(nvrtcProgram program) {
    std::stringstream lines(program->ptx);
    std::string rest;
    for (std::string line; std::getline(lines, line);) {
        size_t at = line.find(NAMES), is = line.find(" = ");
        if (at == std::string::npos || is == std::string::npos || line.back() != ';') {
            rest += line + "\n";
            continue;
        }
        size_t index = std::strtoul(line.c_str() + at + NAMES.size(), nullptr, 10);
        std::string name = line.substr(is + 3, line.size() - is - 4);
        if (!name.compare(0, 8, "generic(")) name = name.substr(8, name.size() - 9);
        if (index < program->names.size()) program->names[index].lowered = name;
    }
    program->ptx = rest;
}

nvrtcResult tell(nvrtcProgram program, const std::string& text, size_t* size, char* to) {
    if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
    if (!size && !to) return NVRTC_ERROR_INVALID_INPUT;
    if (size) *size = text.size() + 1;
    if (to) std::memcpy(to, text.c_str(), text.size() + 1);
    return NVRTC_SUCCESS;
}

}  // namespace

const char* nvrtcGetErrorString(nvrtcResult result) {
    static const char* const names[] = {
        "NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT",
        "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
        "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "NVRTC_ERROR_INTERNAL_ERROR"};
    return result >= 0 && result <= NVRTC_ERROR_INTERNAL_ERROR ? names[result] : "NVRTC_ERROR unknown";
}

nvrtcResult nvrtcVersion(int* major, int* minor) {
    if (!major || !minor) return NVRTC_ERROR_INVALID_INPUT;
    *major = __CUDACC_VER_MAJOR__;
    *minor = __CUDACC_VER_MINOR__;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int headers, const char* const* texts,
                               const char* const* names) {
    if (!program || !source || headers < 0 || (headers && (!texts || !names))) return NVRTC_ERROR_INVALID_INPUT;
    auto made = new _nvrtcProgram;
    made->source = source;
    made->name = fs::path(name && *name ? name : "default_program").filename().string();
    for (int i = 0; i < headers; i++) made->headers.emplace_back(names[i], texts[i]);
    *program = made;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
    if (!program || !*program) return NVRTC_ERROR_INVALID_PROGRAM;
    delete *program;
    *program = nullptr;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression) {
    if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
    if (program->is_compiled) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    program->names.push_back({expression, ""});
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* given) {
    if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
    Options options = understood(count, given);
    if (!options.unknown.empty()) {
        program->log = "error: the virtual machine's NVRTC does not know the option " + options.unknown + "\n";
        return NVRTC_ERROR_INVALID_OPTION;
    }
    program->is_compiled = true;
    Folder folder;
    std::string text = options.macros + "#line 1\n" + program->source + "\n";
    for (size_t i = 0; i < program->names.size(); i++)
        text += "__device__ auto " + NAMES + std::to_string(i) + " = (" + program->names[i].expression + ");\n";
    bool is_cuda = fs::path(program->name).extension() == ".cu";
    fs::path source = folder.path / "source" / (is_cuda ? program->name : program->name + ".cu");
    for (auto& [name, header] : program->headers) write(folder.path / "headers" / name, header);
    write(source, text);
    std::vector<std::string> arguments = {"grader", "__nvrtc-child", source.string(), options.arch, (folder.path / "headers").string()};
    arguments.insert(arguments.end(), options.folders.begin(), options.folders.end());
    bool succeeded = !folder.path.empty() && run(arguments, folder.path / "ptx", folder.path / "log");
    program->log = read(folder.path / "log");
    if (!succeeded) {
        if (program->log.empty()) program->log = "error: the compiler could not be started\n";
        return NVRTC_ERROR_COMPILATION;
    }
    program->ptx = read(folder.path / "ptx");
    take_names(program);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** name) {
    if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
    if (!program->is_compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    auto is = [&](const _nvrtcProgram::Name& of) { return of.expression == expression && !of.lowered.empty(); };
    auto found = std::find_if(program->names.begin(), program->names.end(), is);
    bool is_there = found != program->names.end();
    *name = is_there ? found->lowered.c_str() : nullptr;
    return is_there ? NVRTC_SUCCESS : NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) { return tell(program, program ? program->ptx : "", size, nullptr); }
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* ptx) { return tell(program, program ? program->ptx : "", nullptr, ptx); }
// There is machine code only for a real architecture, `sm_..`, and this machine has none.
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
    if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
    *size = 0;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char*) { return NVRTC_ERROR_INVALID_PROGRAM; }
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) { return tell(program, program ? program->log : "", size, nullptr); }
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) { return tell(program, program ? program->log : "", nullptr, log); }
