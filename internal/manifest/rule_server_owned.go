package manifest

func checkServerOwned(s *subject) {
	if _, has := s.Doc["status"]; has {
		s.serverOwned("status")
	}
	metadata := mapping(s.Doc, "metadata")
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences",
	} {
		if _, has := metadata[field]; has {
			s.serverOwned("metadata." + field)
		}
	}
}

func (s *subject) serverOwned(field string) {
	s.report(field, field+" is a server-owned field", "remove it: it comes from the output of a read")
}
