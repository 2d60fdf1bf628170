"""Tools: arguments in, a result out. A tool declares what is to be stored; it never touches the database itself."""
