# cmake -DOUT=file.c -DNAME=symbol "-DIN=a|b" -P embed.cmake
#   writes the texts of the files, one after the other, as one C string constant
string(REPLACE "|" ";" files "${IN}")
set(text "")
foreach(file IN LISTS files)
  file(READ "${file}" part)
  string(APPEND text "${part}")
endforeach()
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE "${OUT}" "extern const char ${NAME}[];\nconst char ${NAME}[] =\n    \"${text}\";\n")
