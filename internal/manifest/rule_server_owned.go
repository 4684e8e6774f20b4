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
	s.report(field, field+" is a field that the server owns", "remove it: it was copied from an answer of the platform")
}
