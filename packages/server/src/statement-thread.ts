/** The program of a statement thread of the server. */
import { serveStatements } from './serve-statements.ts'

serveStatements()
