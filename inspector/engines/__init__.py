"""Where tasks run. An engine has one verb: map a batch function over the tasks."""
