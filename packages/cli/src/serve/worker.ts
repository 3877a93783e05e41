/** The program of worker processes: the server without the command line. */
import { serveAsWorker } from './serve-here.ts'

void serveAsWorker()
