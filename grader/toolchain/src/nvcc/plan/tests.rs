use super::*;

/// What nvcc 13.0 prints for host code, with shorter names of folders.
const NVCC_13: &str = include_str!("nvcc13.txt");

const VARIABLES: &str = "#$ _SPACE_= \n#$ PATH=/cuda/bin:/usr/bin\n";
const HOST: &str = r#"#$ gcc -E -x c++ "k.cu" -o "/t/k.cpp4.ii"
#$ cudafe++ --gen_c_file_name "/t/k.cudafe1.cpp" --stub_file_name "k.cudafe1.stub.c" --gen_module_id_file --module_id_file_name "/t/k.module_id" "/t/k.cpp4.ii"
"#;
const DEVICE: &str = r#"#$ gcc -E -x c++ "k.cu" -o "/t/k.cpp1.ii"
#$ "$CICC_PATH/cicc" --include_file_name "k.fatbin.c" --module_id_file_name "/t/k.module_id" --stub_file_name "/t/k.cudafe1.stub.c" "/t/k.cpp1.ii" -o "/t/k.ptx"
#$ fatbinary "--image3=kind=ptx,sm=75,file=/t/k.ptx" --embedded-fatbin="/t/k.fatbin.c"
"#;
const COMPILERS: &str = r#"#$ gcc -c -x c++ "/t/k.cudafe1.cpp" -o "/t/k.o"
#$ gcc -c -x c++ "/t/glue.cpp" -o "/t/glue.o"
"#;
const LINKER: &str = "#$ g++ \"/t/k.o\" \"/t/glue.o\" -o \"/t/out\"\n";

fn read(parts: &[&str]) -> Option<Plan> {
    Plan::read(&parts.concat(), Path::new("/t"), Path::new("/t/glue.cpp"))
}

#[test]
fn commands_are_told_apart() {
    let plan = read(&[VARIABLES, HOST, DEVICE, COMPILERS, LINKER]).unwrap();
    assert_eq!(plan.variables[1], ("PATH".into(), "/cuda/bin:/usr/bin".into()));
    assert_eq!((plan.host, plan.device), (vec![0, 1], vec![2, 3, 4]));
    assert_eq!((plan.host_compiler, plan.glue, plan.linker), (5, 6, vec![7]));
    assert!(plan.commands.iter().all(|command| !command.contains(WRITES_MODULE_ID)));
    assert_eq!(plan.device_part, ["/t/k.cudafe1.stub.c", "/t/k.fatbin.c"].map(PathBuf::from));
    let files = |source: &str, object: &str| Files { source: source.into(), object: object.into() };
    assert_eq!(plan.host_files, files("/t/k.cudafe1.cpp", "/t/k.o"));
    assert_eq!(plan.glue_files, files("/t/glue.cpp", "/t/glue.o"));
    assert_eq!(plan.module_id, Path::new("/t/k.module_id"));
}

#[test]
fn what_nvcc_prints_is_a_plan() {
    let glue = Path::new("/t/gradient_puzzles_glue.cpp");
    let plan = Plan::read(NVCC_13, Path::new("/t"), glue).unwrap();
    let programs = |numbers: &[usize]| -> Vec<&str> {
        let first = |&i: &usize| plan.commands[i].split(' ').next().unwrap_or_default();
        numbers.iter().map(first).collect()
    };
    assert_eq!(programs(&plan.host), ["gcc", "cudafe++"]);
    assert_eq!(programs(&plan.device), ["gcc", "\"$CICC_PATH/cicc\"", "fatbinary"]);
    assert_eq!(programs(&[plan.host_compiler, plan.glue]), ["gcc", "gcc"]);
    assert_eq!(programs(&plan.linker), ["g++"]);
    let variable = |name: &str| plan.variables.iter().find(|(n, _)| n == name);
    assert_eq!(variable("CICC_PATH").unwrap().1, "/cuda/bin/../nvvm/bin");
    assert_eq!(plan.module_name(), "_4_15_k");
    assert!(!plan.registers_itself());
    let linked = NVCC_13.replace(" --static-host-stub ", " --device-c ");
    let plan = Plan::read(&linked, Path::new("/t"), glue).unwrap();
    assert!(plan.registers_itself());
    let function = "void __cudaRegisterLinkedBinary_4_15_k(void (*all)(void**), void* code, ";
    assert!(plan.registration().contains(function), "{}", plan.registration());
}

#[test]
fn options_are_what_a_command_says_but_its_files() {
    let command = r#"gcc -c "-I/cuda/include" "/t/k.cudafe1.cpp" -o "/t/k.o""#;
    let kept: Vec<&str> = options(command, Path::new("/t")).collect();
    assert_eq!(kept, ["gcc -c ", "-I/cuda/include", " ", " -o ", ""]);
}

#[test]
fn a_module_has_the_name_of_its_source() {
    let text = [HOST, DEVICE, COMPILERS, LINKER].concat().replace("/t/k.m", "/t/k-1.m");
    assert_eq!(read(&[&text]).unwrap().module_name(), "_3_k_1");
}

/// CUDA 11 compiles the kernels first, and its cicc names the module. A program is linked in more steps.
#[test]
fn the_order_of_nvcc_may_be_another() {
    let (host, device) = (
        HOST.replace("--gen_module_id_file ", ""),
        DEVICE.replace("--module_id", "--gen_module_id_file --module_id"),
    );
    let nvlink = "#$ nvlink \"/t/k.o\" -o \"/t/out.cubin\"\n";
    let plan = read(&[&device, &host, COMPILERS, nvlink, LINKER]).unwrap();
    assert_eq!((plan.host, plan.device), (vec![3, 4], vec![0, 1, 2]));
    assert_eq!((plan.host_compiler, plan.glue, plan.linker), (5, 6, vec![7, 8]));
}

#[test]
fn other_plans_are_left_to_nvcc() {
    assert_eq!(read(&["nvcc fatal   : Unsupported gpu architecture 'compute_10'\n"]), None);
    assert_eq!(read(&[HOST, DEVICE, LINKER]), None);
    assert_eq!(read(&[HOST, HOST, DEVICE, COMPILERS, LINKER]), None);
    assert_eq!(read(&[HOST, COMPILERS, LINKER]), None);
    let without_name = HOST.replace("--gen_module_id_file ", "");
    assert_eq!(read(&[&without_name, DEVICE, COMPILERS, LINKER]), None);
    // One waits for what the other writes.
    let waits = HOST.replace("\"k.cudafe1.stub.c\"", "\"/t/k.cudafe1.stub.c\"");
    assert_eq!(read(&[&waits, DEVICE, COMPILERS, LINKER]), None);
    // nvcc has more to say than its plan.
    let warning = "nvcc warning : incompatible redefinition for option 'std'\n";
    assert_eq!(read(&[warning, HOST, DEVICE, COMPILERS, LINKER]), None);
    assert_eq!(read(&[HOST, DEVICE, COMPILERS, LINKER, "\n"]), None);
}
