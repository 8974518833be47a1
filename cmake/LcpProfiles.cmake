# Profiles are data in profiles/; the library carries them so that it needs no file at run time.
file(GLOB LCP_PROFILES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/profiles/*.json)
set(LCP_SHIPPED_PROFILES ${PROJECT_BINARY_DIR}/shipped_profiles.c)
add_custom_command(
  OUTPUT ${LCP_SHIPPED_PROFILES}
  COMMAND ${CMAKE_COMMAND} -D FOLDER=${PROJECT_SOURCE_DIR}/profiles -D OUT=${LCP_SHIPPED_PROFILES} -P
          ${PROJECT_SOURCE_DIR}/cmake/EmbedProfiles.cmake
  DEPENDS ${LCP_PROFILES} ${PROJECT_SOURCE_DIR}/cmake/EmbedProfiles.cmake
  VERBATIM)
set_source_files_properties(${LCP_SHIPPED_PROFILES} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
target_sources(lcp PRIVATE ${LCP_SHIPPED_PROFILES})
