if(TARGET tempo_driver)
  tempo_test(field tempo_driver tempo_emulation)
endif()
