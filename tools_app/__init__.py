"""Arguments in, a result out. Tools declare what shall happen to our data; they never do it themselves."""
