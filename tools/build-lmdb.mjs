/** `npm run build:lmdb`: compiles LMDB for this machine, as set-up does where it can, and says what is missing or went wrong. */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compiledFile, compileLmdb, missingForCompiling } from './compile-lmdb.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const problem = missingForCompiling(root) ?? (await compileLmdb(root))
if (problem === undefined) {
  process.stdout.write(`build:lmdb: ${compiledFile(root)} is used from the next start on; npm ci removes it.\n`)
} else {
  process.stderr.write(
    `${problem}\nbuild:lmdb: not compiled, for the reason above. LMDB is used as npm installed it.\n`,
  )
  process.exitCode = 1
}
