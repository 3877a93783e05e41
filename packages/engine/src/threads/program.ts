/** Where the program of a statement thread is: a file of its own, which the bundled program has beside its others. */
import { extname } from 'node:path'

export const threadProgram = new URL(`../statement-thread${extname(import.meta.url)}`, import.meta.url)
