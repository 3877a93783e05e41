/** What the primary starts as a worker: the server alone, without the command line. */
import { serveAsWorker } from './serve-here.ts'

void serveAsWorker()
