/** Infers classes from all records of a file. */

import { type CommandError, invalidInput, usageError } from '../errors/command-error.ts'
import { numberText } from '../output/texts.ts'
import { RecordProblem } from './column-values.ts'
import { type Definition, type Fields, type FileRecord, fieldOf, type OpenImportFile } from './file-record.ts'
import { type Inferred, inferClasses } from './infer-class.ts'
import { countedLosses } from './losses.ts'
import type { Mapping } from './mapping.ts'
import { ObservedAttributes, type ObservedValues } from './observed-values.ts'
import type { References } from './references.ts'
import { conversionOf } from './stored-values.ts'
import { Columns, type Target } from './to-attributes.ts'
import type { ValueCheck } from './value-checks.ts'

export interface FileReading {
  readonly className: string
  readonly mapping: Mapping
  readonly references: References | undefined
  /** The number of records to skip at the beginning. */
  readonly skip: number
  /** Whether records that cannot be read are skipped; otherwise the first one ends the command. */
  readonly isLenient: boolean
  readonly checkOf: ((definition: Definition) => ValueCheck) | undefined
  /** Called for each record. Throws to end the command. */
  readonly onRecord: () => void
}

interface SeenTarget extends Target {
  readonly values: ObservedValues
  /** For types from the mapping: returns why a value is invalid. */
  readonly problem: ValueCheck | undefined
}

export async function inferFromFile(file: OpenImportFile, reading: FileReading): Promise<Inferred> {
  const scan = new Scan(file, reading)
  for await (const record of file.records) {
    reading.onRecord()
    scan.see(record)
  }
  return scan.inferred()
}

/** Whether the file declares the types of all its columns, so that they need not be inferred. */
export function declaresTypes({ definitions, header }: OpenImportFile): boolean {
  return definitions.size > 0 && header()?.every((column) => definitions.has(column)) === true
}

class Scan {
  private readonly file: OpenImportFile
  private readonly reading: FileReading
  private readonly attributes = new ObservedAttributes({ count: 0 }, 0)
  private readonly columns: Columns<SeenTarget>
  private readonly defaults: readonly (readonly [column: string, usual: unknown])[]
  private seen = 0
  private used = 0
  private firstProblem: CommandError | undefined

  constructor(file: OpenImportFile, reading: FileReading) {
    this.file = file
    this.reading = reading
    const { mapping, references } = reading
    const referred = references?.classes() ?? new Map<string, string>()
    this.columns = new Columns(mapping, new Set(), (target) => {
      const values = this.valuesAt(target.path)
      values.column = target.column
      const declared = target.own === undefined ? file.definitions.get(target.column) : target.own.definition
      const referencedClass = declared === undefined ? referred.get(target.column) : undefined
      if (declared !== undefined) values.definition = declared
      if (referencedClass !== undefined) values.definition = { logicalType: 'reference', referencedClass }
      const problem = target.own?.definition && this.problemOf(target, target.own.definition)
      return { ...target, values, problem }
    })
    this.defaults = [...mapping.columns].flatMap(([column, { default: usual }]) =>
      usual === undefined ? [] : [[column, usual] as const],
    )
    for (const column of file.definitions.keys()) this.columns.target(column)
  }

  private problemOf({ path }: Target, definition: Definition): ValueCheck | undefined {
    const { checkOf, className } = this.reading
    const check = checkOf?.(definition)
    if (check === undefined) return undefined
    const name = path.join('.')
    const convert = conversionOf(definition, name, {
      attributesOf: () => undefined,
      losses: countedLosses(),
      isUpdate: false,
    })
    return (value) => {
      const problem = check(convert(value))
      return problem === undefined ? undefined : `Class ${className}, attribute ${name}: ${problem}.`
    }
  }

  private valuesAt([first = '', ...inner]: readonly string[]): ObservedValues {
    let values = this.attributes.attribute(first)
    for (const name of inner) values = values.inner().attribute(name)
    return values
  }

  see(record: FileRecord): void {
    if (++this.seen <= this.reading.skip) return
    if (record.fields === undefined) {
      this.fail(record, `The record ${record.problem ?? 'cannot be read'}.`)
      return
    }
    try {
      this.seeFields(record.fields, record.line)
      this.used++
    } catch (error) {
      if (!(error instanceof RecordProblem)) throw error
      this.fail(record, error.message)
    }
  }

  private seeFields(fields: Fields, line: number): void {
    const isTyped = !this.file.areTexts
    for (const column of Object.keys(fields)) {
      const target = this.columns.target(column)
      if (target === undefined) continue
      const { own, values } = target
      if (own === undefined) values.see(fields[column], line, isTyped)
      else seeMapped(own.toValue(fields[column], values.definition?.logicalType), target, line, isTyped)
    }
    for (const [column, usual] of this.defaults)
      if ((fieldOf(fields, column) ?? null) === null) this.columns.target(column)?.values.see(usual, line, true)
  }

  private fail({ line }: FileRecord, reason: string): void {
    const { isLenient } = this.reading
    const hint = isLenient ? '' : ' Correct the file, or skip such records with --rejects <file>.'
    const problem = invalidInput(`Line ${line}: ${reason}${hint} Nothing was imported.`)
    if (!isLenient) throw problem
    this.firstProblem ??= problem
  }

  /** Throws CommandError if there are no records and no declared types. */
  inferred(): Inferred {
    const { skip, className } = this.reading
    if (this.seen < skip) throw skipsAll(skip, this.seen)
    const columns = this.file.header()
    if (this.used === 0 && this.file.definitions.size === 0) throw this.firstProblem ?? noRecords(columns)
    const order = columns?.map((column) => this.columns.target(column)?.path[0] ?? '') ?? []
    return inferClasses(className, this.attributes, order)
  }
}

function seeMapped(value: unknown, { values, problem }: SeenTarget, line: number, isTyped: boolean): void {
  const { definition } = values
  // With a separator, the cells of a column of references are lists.
  if (definition?.logicalType === 'reference' && Array.isArray(value))
    values.definition = { logicalType: 'list', elementSpecification: definition }
  const why = problem?.(value)
  if (why !== undefined) throw new RecordProblem(why)
  values.see(value, line, isTyped)
}

export function skipsAll(skip: number, count: number): CommandError {
  return usageError(`--skip ${skip} is more than the ${numberText(count)} records of the file.`)
}

function noRecords(header: readonly string[] | undefined): CommandError {
  const columns =
    header === undefined ? undefined : `${numberText(header.length)} column${header.length === 1 ? '' : 's'}`
  const has = columns === undefined ? 'has no records' : `has a header of ${columns} and no records below it`
  const hint = columns === undefined ? '' : ' If the first line is a record, name the columns by --columns.'
  return invalidInput(`The file ${has}, so the types of its values are not known and no class was created.${hint}`)
}
