/** `npm run generate`: writes the files that follow from what the server declares. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { staleFiles } from './generated-files.ts'
import { readProjectFiles } from './project-files.ts'

const root = join(import.meta.dirname, '..')
const stale = staleFiles(readProjectFiles(root))
for (const [path, text] of stale) {
  writeFileSync(join(root, path), text)
  console.log(`wrote ${path}`)
}
if (stale.size === 0) console.log('everything is current')
