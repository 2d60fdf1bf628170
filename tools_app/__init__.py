"""Tools: functions with arguments and a result. Tools declare the data to store and never access the database."""
