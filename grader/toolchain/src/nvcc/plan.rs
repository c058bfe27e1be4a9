//! What nvcc would run, one after another, to make a library of host code and kernels, and what of it can run side by side.
//!
//! ```text
//! preprocess (host)   ─► cudafe++ ─────────┐
//! preprocess (device) ─► cicc ─► fatbinary ┴► host compiler ─┬► linker
//!                                                      glue ─┘
//! ```

use std::path::{Path, PathBuf};

/// The answer of `nvcc --dryrun --keep`, sorted. Commands are named by their number in nvcc's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Environment variables that the commands see.
    pub variables: Vec<(String, String)>,
    /// Command lines for a shell.
    pub commands: Vec<String>,
    /// The commands that preprocess the source for the host, and take the kernels out of it.
    pub host: Vec<usize>,
    /// The commands that preprocess the source for the device, and compile its kernels.
    pub device: Vec<usize>,
    /// What the host compiler includes of the device's part: how the kernels are launched, and the kernels.
    pub device_part: [PathBuf; 2],
    /// The command that compiles the host's part, and with it the device's.
    pub host_compiler: usize,
    /// What the host compiler reads and what it writes.
    pub host_files: Files,
    /// The command that compiles the glue.
    pub glue: usize,
    /// What the compiler of the glue reads and what it writes.
    pub glue_files: Files,
    /// The commands that link the source's object with that of the glue.
    pub linker: Vec<usize>,
    /// To be written before anything runs: a name of the source that both front ends build into the names of what only
    /// this source can see. nvcc lets the first front end write it, and the second one wait for that.
    pub module_id: PathBuf,
}

/// The files of a compiler's command, as they stand in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The file of C++ text that it reads.
    pub source: PathBuf,
    /// The object file that it writes.
    pub object: PathBuf,
}

impl Files {
    /// The command with other files in the place of these.
    pub fn replace(&self, command: &str, other: &Self) -> String {
        let quoted = |path: &Path| format!("\"{}\"", path.display());
        let command = command.replace(&quoted(&self.source), &quoted(&other.source));
        command.replace(&quoted(&self.object), &quoted(&other.object))
    }
}

/// Tells the front end to write the module's name rather than to read it.
const WRITES_MODULE_ID: &str = "--gen_module_id_file";

impl Plan {
    /// Reads what nvcc printed, a [`DryRun`]. The commands keep what they make in `scratch`, and compile the C++ file `glue`
    /// besides the source. `None` if nvcc says anything else, or if the commands are other ones than in the picture above.
    pub fn read(text: &str, scratch: &Path, glue: &Path) -> Option<Self> {
        let DryRun { variables, mut commands } = DryRun::read(text)?;
        let first = only(&commands, |c| c.contains(WRITES_MODULE_ID))?;
        let module_id = after(&commands[first], "--module_id_file_name ")?.to_owned();
        let source = after(&commands[first], "--orig_src_path_name ").map(str::to_owned);
        commands[first] = commands[first].replace(WRITES_MODULE_ID, "");

        let compiles = |c: &str, input: &str| c.contains(" -c ") && c.contains(input);
        let host_compiler = only(&commands, |c| compiles(c, ".cudafe1.cpp\""))?;
        let quoted_glue = format!("\"{}\"", glue.display());
        let glue_compiler = only(&commands, |c| compiles(c, &quoted_glue))?;
        let (host, device): (Vec<usize>, Vec<usize>) =
            (0..host_compiler).partition(|&i| commands[i].contains(".cpp4.ii\""));
        let linker = (host_compiler + 1..commands.len()).filter(|&i| i != glue_compiler).collect();
        let option = |name| device.iter().find_map(|&i| after(&commands[i], name));
        let device_part =
            [option("--stub_file_name ")?, option("--embedded-fatbin=")?].map(PathBuf::from);
        let compiled_source =
            commands[host_compiler].split('"').find(|word| word.ends_with(".cudafe1.cpp"))?;
        let object = |number: usize| Some(after(&commands[number], " -o ")?.into());
        let host_files = Files { source: compiled_source.into(), object: object(host_compiler)? };
        let glue_files = Files { source: glue.to_owned(), object: object(glue_compiler)? };

        let files_of = |numbers: &[usize]| -> Vec<&str> {
            let all = numbers.iter().flat_map(|&i| files(&commands[i], scratch));
            // Both read the source, wherever it lies.
            all.filter(|file| *file != module_id && Some(*file) != source.as_deref()).collect()
        };
        let (of_host, of_device) = (files_of(&host), files_of(&device));
        let independent = !of_host.iter().any(|file| of_device.contains(file));
        let module_id = module_id.into();
        (host.len() == 2 && glue_compiler > host_compiler && independent).then_some(Self {
            variables,
            commands,
            host,
            device,
            device_part,
            host_compiler,
            host_files,
            glue: glue_compiler,
            glue_files,
            linker,
            module_id,
        })
    }

    /// Whether the device code may be linked with that of other files (`-rdc=true`), so that its registration is left to a file that nvcc
    /// would make of the linked code.
    pub fn registers_itself(&self) -> bool {
        self.device.iter().any(|&number| self.commands[number].contains(" --device-c "))
    }

    /// That file, where there is nothing to link: a function of the name that the source calls.
    pub fn registration(&self) -> String {
        let name = self.module_name();
        format!(
            "extern \"C\" void __cudaRegisterLinkedBinary(void (*)(void**), void*);\n\
             extern \"C\" void __cudaRegisterLinkedBinary{name}(void (*all)(void**), void* code, void*, void (*)(void*))\n\
             {{\n    __cudaRegisterLinkedBinary(all, code);\n}}\n"
        )
    }

    /// What to write into [`Plan::module_id`]: letters, digits and `_`.
    pub fn module_name(&self) -> String {
        let name = self.module_id.file_stem().unwrap_or_default().to_string_lossy();
        let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        format!("_{}_{name}", name.len())
    }
}

/// What nvcc says that it would do.
pub(super) struct DryRun {
    /// The environment variables that it sets for its commands.
    pub variables: Vec<(String, String)>,
    pub commands: Vec<String>,
}

impl DryRun {
    /// Reads what nvcc printed: its variables and then its commands, each behind `#$ `. `None` if it says anything else.
    pub fn read(text: &str) -> Option<Self> {
        let mut variables = Vec::new();
        let mut commands = Vec::new();
        for line in text.lines() {
            let line = line.strip_prefix("#$ ")?;
            match variable(line) {
                Some(variable) if commands.is_empty() => variables.push(variable),
                _ => commands.push(line.trim().to_owned()),
            }
        }
        Some(Self { variables, commands })
    }
}

/// The number of the one command of which `is` holds.
pub(super) fn only(commands: &[String], is: impl Fn(&str) -> bool) -> Option<usize> {
    let mut found = (0..commands.len()).filter(|&i| is(&commands[i]));
    found.next().filter(|_| found.next().is_none())
}

/// Splits `NAME=value`, if the line is of that form.
fn variable(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

/// The quoted word behind an option.
pub(super) fn after<'c>(command: &'c str, option: &str) -> Option<&'c str> {
    let (_, rest) = command.split_once(option)?;
    rest.strip_prefix('"')?.split('"').next()
}

/// A command without the files in `folder` that it names.
pub fn options<'c>(command: &'c str, folder: &Path) -> impl Iterator<Item = &'c str> {
    command.split('"').filter(move |word| !Path::new(word).starts_with(folder))
}

/// The files in `folder` that a command names.
fn files<'c>(command: &'c str, folder: &Path) -> Vec<&'c str> {
    let folder = format!("{}/", folder.display());
    let starts = command.match_indices(&folder).map(|(at, _)| &command[at..]);
    starts.filter_map(|rest| rest.split(['"', ' ', ',']).next()).collect()
}

#[cfg(test)]
mod tests;
