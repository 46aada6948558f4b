package patch

// creates reports whether a section is the whole text of a file that does not exist yet, of a program without blocks.
func (r *reviser) creates(s Section) bool {
	if r.on.File != nil || r.on.Name == "" || len(r.blocks) > 0 || s.To != "" {
		return false
	}
	return s.Act == ActEmit && s.Name == "" || (s.Act == ActCreate || s.Act == ActWrite) && r.on.isFile(s.Name)
}

// create makes the program that the text of a section is.
func (r *reviser) create(s Section) error {
	made, err := Parse(r.on.Name, []byte(endLast(s.Text)))
	if err != nil {
		return err
	}
	for i, id := range Names(made.Blocks) {
		made.Blocks[i].ID = id
	}
	r.on.File, r.file, r.blocks = made, made, made.Blocks
	r.fileIDs = r.ids()
	r.places = append(r.places, Placement{Format: r.patch.Format})
	return nil
}
