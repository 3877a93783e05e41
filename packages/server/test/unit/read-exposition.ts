/** The text format of Prometheus, read; what it does not allow throws. */

export interface ReadSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Exposition {
  readonly samples: readonly ReadSample[]
  /** By metric. */
  readonly types: ReadonlyMap<string, string>
  /** Of the one sample with these labels; undefined where there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined
}

const sampleForm = /^([a-z_:][\w:]*)(?:\{(.*)\})? (-?[\d.e+-]+|\+Inf|NaN)$/i
const labelForm = /([a-z_]\w*)="((?:[^"\\]|\\.)*)"(,|$)/gi

export function readExposition(text: string): Exposition {
  const samples: ReadSample[] = []
  const types = new Map<string, string>()
  const seen = new Set<string>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ')) continue
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line)
    if (type !== null) {
      if (types.has(type[1] as string)) throw new Error(`twice: ${line}`)
      types.set(type[1] as string, type[2] as string)
      continue
    }
    const [, name, labelled = '', value] = sampleForm.exec(line) ?? []
    if (name === undefined) throw new Error(`no sample: ${line}`)
    const labels = Object.fromEntries([...labelled.matchAll(labelForm)].map(([, label, of]) => [label, of]))
    const key = `${name}${JSON.stringify(labels)}`
    if (seen.has(key)) throw new Error(`twice: ${line}`)
    seen.add(key)
    samples.push({ name, labels, value: Number(value?.replace('Inf', 'Infinity')) })
  }
  return {
    samples,
    types,
    value: (name, labels = {}) => samples.find((one) => one.name === name && areSame(one.labels, labels))?.value,
  }
}

function areSame(one: ReadSample['labels'], other: ReadSample['labels']): boolean {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}
