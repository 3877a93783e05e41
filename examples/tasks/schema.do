// Projects with tasks, which people own and comment on. A task takes its comments along when it is deleted.
UPDATE SCHEMA {
  CREATE CLASS Person {
    user: String{Required, Unique}, name: String{Required},
    tasks: List{Element: Reference{Referenced: Task, Inverse: owner}}
  }
  CREATE CLASS Project {
    name: String{Required, Unique, MinLength: 1, MaxLength: 40},
    tasks: List{Element: Reference{Referenced: Task, Inverse: project, OnSourceDelete: delete}}
  }
  CREATE CLASS Task {
    title: String{Required, MinLength: 1, MaxLength: 80}, status: String{Required, Enumeration: ('open', 'done'), Default: 'open'},
    owner: Reference{Referenced: Person, Inverse: tasks}, project: Reference{Referenced: Project, Inverse: tasks, Required},
    comments: List{Element: Reference{Referenced: Comment, Inverse: task, OnSourceDelete: delete}}
  }
  CREATE CLASS Comment {
    text: String{Required, MinLength: 1}, at: Instant{Required},
    author: Reference{Referenced: Person, Required}, task: Reference{Referenced: Task, Inverse: comments, Required}
  }
};
