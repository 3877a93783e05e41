/** The program `ashlar` of a checkout. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** As its package names it. This checkout's is built if its sources have changed; another's is taken as it is. */
export function programOf(checkout = '.'): string {
  if (resolve(checkout) === process.cwd()) execFileSync(process.execPath, ['tools/set-up.mjs'], { stdio: 'inherit' })
  const folder =
    ['cli', 'server'].map((name) => join(checkout, 'packages', name)).find((path) => existsSync(path)) ?? checkout
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly bin: { readonly ashlar: string }
  }
  return join(folder, manifest.bin.ashlar)
}

/** Words of `serve` for figures of the store alone: the contenders keep no log either. A checkout from before there was one knows none of it. */
export function withoutChangeLog(alias: string, checkout = '.'): string[] {
  return existsSync(join(checkout, 'docs/changes.md')) ? ['--change-log', `${alias}=off`] : []
}
