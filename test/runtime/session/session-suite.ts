// All tests of a session in one process, for the mutation check.
import './session.test.js';
import './session-evidence.test.js';
import './session-failures.test.js';
import './session-host.test.js';
