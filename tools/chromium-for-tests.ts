/** A real Chromium for tests of the client, out of the packages that npm has installed: nothing is downloaded, and the system needs no library for it. */
import { spawnSync } from 'node:child_process'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync, createBrotliDecompress } from 'node:zlib'
import { type Browser, chromium } from 'playwright-core'

/** The message says why. */
export class ChromiumUnavailable extends Error {}

/** Throws ChromiumUnavailable. */
export async function launchChromium(): Promise<Browser> {
  const { platform, arch } = process
  if (platform !== 'linux' || arch !== 'x64') {
    throw new ChromiumUnavailable(`the package has a Chromium for Linux on x64, and this is ${platform} on ${arch}`)
  }
  const folder = await extracted()
  try {
    return await chromium.launch({
      executablePath: join(folder, 'chromium'),
      // Only the tests' own pages are opened; as root, or without user namespaces, Chromium has no sandbox.
      args: ['--no-sandbox', '--disable-gpu'],
      env: { ...process.env, LD_LIBRARY_PATH: join(folder, 'lib') },
    })
  } catch (error) {
    throw new ChromiumUnavailable(`Chromium does not start: ${(error as Error).message}`)
  }
}

/** The folder of the program and its libraries; made once for each version of the package. Of two runs that make it, the first one counts. */
async function extracted(): Promise<string> {
  const packed = join(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))), '../..')
  const { version } = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8')) as { readonly version: string }
  const cache = fileURLToPath(new URL('../node_modules/.cache', import.meta.url))
  const folder = join(cache, `chromium-${version}`)
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  const making = mkdtempSync(`${folder}.`)
  try {
    const bin = join(packed, 'bin')
    const libraries = brotliDecompressSync(readFileSync(join(bin, 'al2023.tar.br')))
    const untarred = spawnSync('tar', ['-x', '-C', making], { input: libraries, encoding: 'utf8' })
    if (untarred.status !== 0) throw new ChromiumUnavailable(`tar fails: ${untarred.error?.message ?? untarred.stderr}`)
    const program = createWriteStream(join(making, 'chromium'), { mode: 0o755 })
    await pipeline(createReadStream(join(bin, 'chromium.br')), createBrotliDecompress(), program)
    if (!existsSync(folder)) renameSync(making, folder)
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  return folder
}
