# SPDX-License-Identifier: BSD-3-Clause
# Files of others are opened and looked at by base/open_foreign alone: a name means what its owner wants it to mean, at each
# instant anew. Every other call that takes a name is in the list below, with the reason why the name is nobody else's. The
# recorder is not here: it is part of the program that records, and makes that program's own file.
cd "$1/src" || exit 1

# What the kernel itself says, under names that are written out in the call.
own='"(/|/proc/self/[a-z/_]*|/proc/sys/[a-z/_]*|/proc|/sys/[a-z/_]*|/dev/null)"|AT_FDCWD, "/sys'

# FILE: TEXT of the line. REASON
allowed='
base/create.c: open(".", O_PATH            ours: where -o writes; made for directories that others may write
base/create.c: open(directory, O_PATH      the same
base/create.c: give(open(path, O_RDONLY    the same
base/whole.c: open(path, O_RDONLY          whole_read_short(), of which every call is looked at here, too
base/whole.c: ssize_t whole_read_short(    the same
builtin/output.c: descriptor = open(       cat() reads what the script says, also /proc and devices; O_NONBLOCK
cmd/options.c: access(value->text, F_OK)   chooses a message; options of the caller
cmd/options.c: stat(name, &status)         the same
cmd/report.c: access(given.words[next], F_OK)   the same
cmd/script.c: open(name, O_RDONLY          the script itself
cmd/static.c: fopen("/etc/passwd", "re")   what the C library reads in programs that are not static
cmd/static.c: fopen("/etc/group", "re")    the same
cmd/top_recording.c: access(word, F_OK)    chooses how a word of the caller is read
cmd/trace.c: access(file, R_OK)            the script itself
kernel/attach.c: opendir(path)             /proc/PID/task
kernel/features.c: whole_read_short(path   files of /sys
kernel/features.c: access(path, F_OK)      a file of /sys
metrics/textfile.c: lstat(path, &status)   chooses a message; the file is replaced and never opened
otlp/sender.c: access(file, R_OK)          chooses a message; certificates of the caller, which libcurl reads
probe/iter.c: statfs(directory             where the caller pins
probe/kind.c: opendir(modules_directory)   /sys/kernel/btf
probe/uprobe.c: access(binary, F_OK)       chooses how a word is read; nothing is opened by it
probe/user.c: access(word, F_OK)           the same
reader/control_spoor.c: open(path, O_RDWR | O_CREAT | O_EXCL    made by us, new
reader/drain.c: open(drain->path, O_RDWR | O_CREAT | O_EXCL     made by us, new
reader/find.c: opendir(directory)          /dev/shm and what the caller says: names only
reader/json_lines.c: open(path, O_RDONLY   of the caller, who may give a pipe
reader/relation.c: whole_read_short(path   /proc/cpuinfo, a file of /sys
reader/write_access.c: fopen(path, "re")   /proc/PID/fdinfo
reader/write_access.c: opendir(path)       /proc/PID/fd
remote/binary.c: open(path, O_RDONLY       the program that runs, and files of the caller
session/child.c: = open(session)           a function of ours
session/command_terminal.c: open("/dev/tty", flags)              our terminal
session/command_terminal.c: open(name, flags)                   /proc/self/fd, a terminal
session/command_terminal.c: open(name, O_RDWR | O_NOCTTY        our new terminal, by its number in the mount of terminals
session/target.c: stat(name,               /proc/PID/ns
sym/dwarf/dwarf.c: open(path, O_PATH | O_NOFOLLOW   only the directory that it is in matters, to libdw: nothing is read
sym/kernel/btf.c: open(path ? path : vmlinux      the kernel
sym/process/cgroup.c: statfs(path, &system)        the mount of the cgroups
sym/process/cgroup.c: open(mount, O_RDONLY         the same
sym/process/cgroup_choice.c: fopen(name, "re")     /proc/PID/cgroup
sym/process/cgroup_choice.c: access(word, F_OK)    chooses how a word of the caller is read
sym/process/cgroup_choice.c: statfs(real, &system)   a cgroup
sym/process/cgroup_choice.c: open(path, O_RDONLY | O_DIRECTORY          a cgroup
sym/dwarf/cache.c: open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW   the cache of the caller, whose owner and mode are checked
sym/kernel/kallsyms.c: open(path, O_RDONLY        /proc/kallsyms
sym/process/library.c: stat(path, &status) && S_ISREG                   a command in the PATH of the caller: looked at only
sym/process/perf_map.c: fopen(path, "re")          /proc/PID/status
sym/process/perf_map.c: open(path, O_PATH | O_DIRECTORY                 /proc/PID/root
sym/process/proc.c: open(path, O_RDONLY            /proc/PID
sym/process/proc.c: access(path, F_OK)             /proc/PID
sym/symbol_file.c: open(path, O_RDONLY     /proc/PID/mem
sym/kernel/tracefs.c: open(places[i], O_RDONLY    tracefs
top/terminal.c: open("/dev/tty", O_RDWR   our terminal
'
bad=0
calls='(^|[^A-Za-z0-9_>.])(open|creat|fopen|freopen|opendir|scandir|stat|lstat|statfs|statvfs|access|faccessat|truncate|whole_read_short)\('
while IFS=: read -r file line text; do
    is_allowed=
    while IFS= read -r exception; do
        [ -n "$exception" ] || continue
        name=${exception%%: *} what=${exception#*: }
        what=${what%%   *}
        [ "$file" = "$name" ] && [[ $text == *"$what"* ]] && is_allowed=1 && used="${used:-}$exception
" && break
    done <<<"$allowed"
    [ -n "$is_allowed" ] || { echo "src/$file:$line: a name is opened or looked at outside of base/open_foreign: $text" && bad=1; }
done < <(grep -rnE "$calls" --include='*.c' * | grep -vE '^(base/open_foreign\.c|recorder/.*):' | grep -vE "$own" | grep -vE '^[^:]*:[0-9]*: *(/?\*|static int open\()')
while IFS= read -r exception; do
    [ -z "$exception" ] || [[ ${used:-} == *"$exception"* ]] || { echo "nothing needs this exception any more: $exception" && bad=1; }
done <<<"$allowed"
exit $bad
