// `countersign completion bash|zsh|fish`: prints the script of a shell, from all commands and their options.
import { Argument, type Command } from 'commander';
import { makeCompletion, SHELLS, type Shell, type Words } from './completion.ts';
import type { TerminalRuntime } from './runtime.ts';

/**
 * Fills in `completion`.
 * @param fillAll loads every other command
 */
export function registerCompletionCommand(
  command: Command,
  { print }: TerminalRuntime,
  fillAll: (program: Command) => Promise<void>,
): void {
  command
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      '\nbash: source <(countersign completion bash)\nzsh:  source <(countersign completion zsh)\nfish: countersign completion fish | source',
    )
    .action(async (shell: Shell) => {
      const program = command.parent;
      if (program === null) return;
      await fillAll(program);
      print(makeCompletion(shell, listWords(program, [])));
    });
}

function listWords(command: Command, path: readonly string[]): Words[] {
  const options = command.options.flatMap(({ long }) => (long === undefined || long === null ? [] : [long]));
  const words = [...command.commands.map((each) => each.name()), ...options];
  return [{ path, words }, ...command.commands.flatMap((each) => listWords(each, [...path, each.name()]))];
}
