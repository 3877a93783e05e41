/** Schema files: one file or a folder, read as one DO text whose errors are located by file and line. */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readInputFile } from '../connection/command-context.ts'
import { invalidInput, usageError } from '../errors/command-error.ts'
import { makeFolders, unwritable } from '../errors/file-errors.ts'
import { writeAtomically } from '../output/write-whole.ts'
import { piecesOf } from './do-pieces.ts'

const extension = '.do'

export interface SchemaSource {
  /** All sequences, then UPDATE SCHEMA with all classes, then all indexes. */
  readonly text: string
  /** Returns the origin of a line of the text; lines start at 1. */
  placeOf(line: number): SourcePlace
}

export interface SourcePlace {
  /** `file:line`. */
  readonly place: string
  /** The line in the file, with the same columns as the text. */
  readonly line: string
}

/** `place`: a file, a folder of `.do` files, or `-`. `existing`: further classes that the files may refer to. Throws CommandError. */
export function readSchemaSource(place: string, existing: readonly string[] = []): SchemaSource {
  const isFolder = place !== '-' && existsSync(place) && statSync(place).isDirectory()
  const files = isFolder ? filesIn(place) : [place]
  const texts = files.map((file) => readInputFile(file))
  // An empty pipe after a failed command must not mean to delete all classes.
  if (texts.every((text) => text.trim() === '')) {
    const hint = 'A schema without classes is UPDATE SCHEMA {}.'
    throw invalidInput(`${place === '-' ? 'Standard input' : place} is empty. ${hint}`)
  }
  const parts = texts.map((text, at) => splitSource(text, files[at] === '-' ? 'standard input' : (files[at] ?? place)))
  const lines: Line[] = [
    ...parts.flatMap(({ sequences }) => sequences),
    { text: 'UPDATE SCHEMA {', place, line: 'UPDATE SCHEMA {' },
    ...existing
      .flatMap((lines) => lines.split('\n'))
      .map((line) => ({ text: line, place: 'In the federated database', line })),
    ...parts.flatMap(({ classes }) => classes),
    { text: '};', place, line: '};' },
    ...parts.flatMap(({ others }) => others),
  ]
  return {
    text: lines.map(({ text }) => text).join('\n'),
    placeOf: (line) => lines[line - 1] ?? { place, line: '' },
  }
}

interface Line extends SourcePlace {
  readonly text: string
}

/** Splits a file into the content of UPDATE SCHEMA {…}, CREATE SEQUENCE and other statements. Blanks preserve lines and columns. */
function splitSource(text: string, file: string): Record<'classes' | 'sequences' | 'others', Line[]> {
  const inClasses = blanked(text)
  const inSequences = blanked(text)
  const inOthers = blanked(text)
  let depth = 0
  let isSchema = false
  /** The start of the current statement, and its text without comments. */
  let statementStart = 0
  let statement = ''
  for (const { from, to, kind } of piecesOf(text)) {
    // Comments within classes may belong to expressions.
    if (kind === 'comment' && !isSchema) continue
    const piece = text.slice(from, to)
    const isCode = kind === 'code'
    if (isCode && depth === 0 && piece === '{' && /^\s*UPDATE\s+SCHEMA\s*$/i.test(statement)) {
      isSchema = true
      depth++
      move(inOthers, statementStart, from)
      continue
    }
    if (isCode && piece === '{') depth++
    if (isCode && piece === '}') depth--
    const isEnd = isCode && depth === 0 && (isSchema ? piece === '}' : piece === ';')
    // The braces and the semicolon of a moved statement are omitted.
    const isOmitted = isEnd && (isSchema || statement.trim() === '')
    const target = isSchema ? inClasses : inOthers
    if (!isOmitted) for (let at = from; at < to; at++) target[at] = text[at] ?? ' '
    if (isEnd) {
      if (!isOmitted) refuseOthers(statement, text.slice(0, from), file)
      if (!isSchema && isSequence(statement)) move(inOthers, statementStart, to, inSequences)
      isSchema = false
      statementStart = to
    }
    statement = isEnd ? '' : isSchema ? statement : statement + piece
  }
  if (statement.trim() !== '') refuseOthers(statement, text.slice(0, statementStart + statement.search(/\S/)), file)
  if (isSequence(statement)) move(inOthers, statementStart, text.length, inSequences)
  const fileLines = text.split('\n')
  const placed = (part: string): Line[] => linesOf(part, file, fileLines)
  return {
    // Blanks and empty lines may belong to expressions and texts in quotes.
    classes: placed(inClasses.join('')),
    sequences: placed(closed(inSequences.join(''))).filter(isWritten),
    others: placed(closed(inOthers.join(''))).filter(isWritten),
  }
}

/** Sequences are created before classes, since defaults of attributes may refer to them. */
function isSequence(statement: string): boolean {
  return /^\s*CREATE\s+SEQUENCE\b/i.test(statement)
}

/** Moves text to another part; without `into`, removes it. */
function move(part: string[], from: number, to: number, into?: string[]): void {
  for (let at = from; at < to; at++) {
    const character = part[at] ?? ' '
    if (character === '\n') continue
    if (into !== undefined) into[at] = character
    part[at] = ' '
  }
}

/** Other statements would run in an in-memory database and have no effect. `before`: the text before the statement. */
function refuseOthers(statement: string, before: string, file: string): void {
  if (/^\s*CREATE\s+(?:UNIQUE\s+)?INDEX\b/i.test(statement) || isSequence(statement)) return
  const hint = /^\s*[[{]/.test(statement)
    ? 'a file of a schema is text of DO (ashlar schema pull shows it); JSON is the body of PUT /v1/schema'
    : 'a file of a schema has UPDATE SCHEMA {…}, CREATE INDEX and CREATE SEQUENCE, and nothing else'
  throw invalidInput(`${file}:${before.split('\n').length}: ${hint}.`)
}

/** Adds a missing semicolon to the last statement of a file, since the next file follows. */
function closed(text: string): string {
  const trimmed = text.trimEnd()
  return trimmed === '' || trimmed.endsWith(';') ? text : `${trimmed};`
}

function blanked(text: string): string[] {
  return Array.from({ length: text.length }, (_, at) => (text[at] === '\n' ? '\n' : ' '))
}

/** `fileLines`: the lines of the whole file. */
function linesOf(text: string, file: string, fileLines: readonly string[]): Line[] {
  return text
    .split('\n')
    .map((line, at) => ({ text: line, place: `${file}:${at + 1}`, line: (fileLines[at] ?? line).trimEnd() }))
}

function isWritten({ text }: Line): boolean {
  return text.trim() !== ''
}

function filesIn(folder: string): string[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(extension))
    .sort()
  if (files.length === 0) throw usageError(`The folder ${folder} has no files that end in ${extension}.`)
  return files.map((file) => join(folder, file))
}

/** Replaces the `.do` files of `folder`; removes the rest if `files` cover all namespaces. */
export function writeSchemaFiles(folder: string, files: ReadonlyMap<string, string>, coversAll: boolean): void {
  try {
    makeFolders(folder)
    for (const [file, text] of files) writeAtomically(join(folder, file), text)
    for (const file of coversAll ? readdirSync(folder) : []) {
      if (file.endsWith(extension) && !files.has(file)) rmSync(join(folder, file))
    }
  } catch (error) {
    throw unwritable(folder, error)
  }
}
