# SPDX-License-Identifier: MIT
# programs.awk -v to=FOLDER PAGE: writes each example of a manual page to FOLDER/N.c and what it should print to N.txt.
function plain(line)
{
    gsub(/\\&/, "", line)
    gsub(/\\-/, "-", line)
    gsub(/\\\(aq/, "'", line)
    gsub(/\\\(ha/, "^", line)
    gsub(/\\\(ti/, "~", line)
    gsub(/\\\(ga/, "`", line)
    gsub(/\\e/, "\\", line)
    return line
}

/^\.\\" example: begin$/ { file = to "/" ++count ".c"; next }
/^\.\\" output: begin$/ { file = to "/" count ".txt"; next }
/^\.\\" (example|output): end$/ { file = ""; next }
/^\.(Bd|Ed)/ { next }
file != "" { print plain($0) > file }
