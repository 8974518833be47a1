# One interface target that every target of ours links privately: language, warnings, sanitizers, hardening.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

add_library(lcp_flags INTERFACE)
target_compile_options(
  lcp_flags
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion -Wformat=2 -Wundef
            -Wvla -Wcast-qual -Wwrite-strings -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes
            -Wold-style-definition -Wswitch-enum -Wimplicit-fallthrough -ffp-contract=off
            $<$<C_COMPILER_ID:GNU>:-Wduplicated-cond>
            $<$<C_COMPILER_ID:GNU>:-Wduplicated-branches>
            $<$<C_COMPILER_ID:GNU>:-Wlogical-op>
            $<$<C_COMPILER_ID:GNU>:-Wcast-align=strict>)
if(LCP_SANITIZE)
  target_compile_options(lcp_flags INTERFACE -fsanitize=${LCP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(lcp_flags INTERFACE -fsanitize=${LCP_SANITIZE})
else()
  target_compile_options(lcp_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>
                                             -fstack-protector-strong)
  target_link_options(lcp_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
if(LCP_COVERAGE)
  target_compile_options(lcp_flags INTERFACE --coverage -O0)
  target_link_options(lcp_flags INTERFACE --coverage)
endif()
