/** The licences of Ashlar and of all packages that a server runs, as the packages declare them. */
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { packageFolder } from '../version.ts'

interface Manifest {
  readonly name?: string
  readonly version?: string
  readonly license?: string | { readonly type?: string }
  readonly licenses?: readonly { readonly type?: string }[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const ashlarName = /^(?:@ashlar\/|ashlar )/

/** Returns a line for each package, Ashlar first, then by name. Optional packages that are not installed are left out. */
export async function licences(): Promise<string[]> {
  const found = new Map<string, string>()
  const seen = new Set([packageFolder])
  const left = [packageFolder]
  for (let directory = left.pop(); directory !== undefined; directory = left.pop()) {
    const manifest = await readManifest(directory)
    if (manifest === undefined) continue
    const { name = directory, version = '' } = manifest
    found.set(`${name} ${version}`, licenceOf(manifest))
    for (const needed of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      const place = await findPackage(needed, directory)
      if (place === undefined || seen.has(place)) continue
      seen.add(place)
      left.push(place)
    }
  }
  const isOwn = ([name]: readonly [string, string]): boolean => ashlarName.test(name)
  const packages = [...found].sort(([one], [other]) => (one < other ? -1 : 1))
  const [ashlar] = packages.filter(isOwn)
  const others = packages.filter((entry) => !isOwn(entry))
  return [
    `Ashlar is licensed under ${ashlar?.[1] ?? 'its LICENSE'}. It is made of:`,
    ...others.map(([name, licence]) => `${name}: ${licence}`),
  ]
}

function licenceOf({ license, licenses }: Manifest): string {
  if (typeof license === 'string') return license
  const types = [license, ...(licenses ?? [])].flatMap((entry) => entry?.type ?? [])
  return types.length === 0 ? 'see its files' : types.join(' OR ')
}

/** Finds the directory of a package as Node does, in `node_modules` of the dependent package or of a directory above. */
async function findPackage(name: string, from: string): Promise<string | undefined> {
  for (let directory = from; ; directory = dirname(directory)) {
    const place = join(directory, 'node_modules', name)
    if ((await readManifest(place)) !== undefined) return place
    if (directory === dirname(directory)) return undefined
  }
}

async function readManifest(directory: string): Promise<Manifest | undefined> {
  try {
    return JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')) as Manifest
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ENOTDIR')
      return undefined
    throw error
  }
}
