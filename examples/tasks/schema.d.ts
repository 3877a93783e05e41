/** Written by `ashlar types`. Do not edit: run it again after changes of the schema. */
import type { Fields, Id, Many, One, is } from '@ashlar/client'

export interface Schema {
	Comment: Comment
	Person: Person
	Project: Project
	Task: Task
}

export interface Comment {
	$id: Id<'Comment'>
	[is]: Fields<'at'|'author'|'task'|'text'>
	at: string
	author: One<Person>|null
	task: One<Task, 'comments'>
	text: string
}

export interface Person {
	$id: Id<'Person'>
	[is]: Fields<'name'|'user'>
	name: string
	tasks: Many<Task, 'owner'>
	user: string
}

export interface Project {
	$id: Id<'Project'>
	[is]: Fields<'name'>
	name: string
	tasks: Many<Task, 'project'>
}

export interface Task {
	$id: Id<'Task'>
	[is]: Fields<'project'|'title'>
	comments: Many<Comment, 'task'>
	owner: One<Person, 'tasks'>|null
	project: One<Project, 'tasks'>
	status: 'open'|'done'
	title: string
}
