/**
 * Loaded beforehand by processes of a program that has just been built, for the sake of their code: as they end, what V8 has compiled of the files while
 * they ran is kept beside these. What is compiled ahead lacks most functions, and to compile these takes a third of a start.
 */
const { renameSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const { setFlagsFromString } = require('node:v8')

const folder = /** @type {string} */ (process.env.PROGRAM_FOLDER)

process.on('exit', () => {
  // Back to what `heap.ts` of the server has changed: V8 takes no code of a process that had other settings.
  for (const setting of ['--allocation-site-pretenuring', '--heap-growing-percent=0']) setFlagsFromString(setting)
  const { codeFile, scripts } = require(join(folder, 'load.cjs'))
  for (const [name, script] of scripts) {
    const code = join(folder, codeFile(name))
    writeFileSync(`${code}.${process.pid}`, script.createCachedData())
    renameSync(`${code}.${process.pid}`, code)
  }
})
