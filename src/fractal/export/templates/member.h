    double @{member.name}@[@{member.size}@];@{"  /* %s */" % member.comment if member.comment}@
