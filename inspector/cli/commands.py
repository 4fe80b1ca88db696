"""The commands, made from the declarations of the analyses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.fleet_run import means_many
from inspector.analyses.shared.opening import Opened
from inspector.cli import click_options, output_files
from inspector.cli.config_file import print_file_in_use
from inspector.cli.help_pages import HelpfulCommand
from inspector.cli.terminal import NEVER
from inspector.render.renderers import OF_VERDICTS


def command_of(analysis: Analysis) -> click.Command:
    """Return the command of an analysis."""
    run: Callable[[Analysis, dict[str, Any]], None] = _report
    formats = (*(OF_VERDICTS if analysis.has_verdict else ()), *analysis.formats)
    declared = list(click_options.parameters(analysis))
    params = [
        *declared,
        *click_options.report_options(formats),
        *(output_files.page_options() if analysis.page else ()),
        *(output_files.history_options() if analysis.remembered else ()),
    ]
    if analysis.files:
        from inspector.cli.export_files import export, export_options  # noqa: PLC0415 - only where state is read

        run, params = export, export_options(declared)
    elif analysis.relation:
        from inspector.cli.statements import answer  # noqa: PLC0415 - as above

        run = answer
    elif analysis.follows:
        from inspector.cli.watch_output import watch, watch_options  # noqa: PLC0415 - as above

        run, params = watch, [*declared, *watch_options()]
    elif analysis.many:
        run, params = _reports, [*params, *click_options.fleet_options()]
        params += click_options.filter_options() if analysis.has_verdict else ()

    def callback(**parsed: Any) -> None:
        if parsed["verbose"]:
            print_file_in_use(click.get_current_context())
        if "output" in parsed and "output_file" in parsed:
            parsed["output"] = click_options.output_format(parsed, formats)
        message = analysis.check(parsed)
        if message is not None:
            raise click.UsageError(message)
        run(analysis, parsed)

    text = analysis.text.replace("``", "")  # marks of its documentation
    return HelpfulCommand(analysis.name, params=params, callback=callback, help=text)


def _report(analysis: Analysis, parsed: dict[str, Any]) -> None:
    """Run an analysis on one checkpoint, write its report, and end the process."""
    output, target = parsed["output"], parsed["output_file"]
    if output in analysis.formats and not target:
        raise click.UsageError(f"-o {output} needs a file: -O {analysis.name}.{output}")
    arguments = [parsed[argument.name] for argument in analysis.arguments]
    keywords = click_options.own_options(analysis, parsed)
    options = click_options.api_options(parsed, analysis.shared)
    if analysis.by_executors is not None:
        run = Opened.start(parsed["path"], options)
        if target:
            output_files.outside(run.checkpoint.root, target)
        if not run.engine.in_process:
            from inspector.cli.export_files import write_by_executors  # noqa: PLC0415 - as above

            write_by_executors(analysis, run, parsed, keywords)
        arguments = [run]
    side_files = output_files.Beside(analysis, parsed, keywords, options.engine)
    report = analysis.function(*arguments, options, **keywords)
    side_files.add(report)
    fail_on = parsed.get("fail_on", NEVER)
    if output in analysis.formats:
        from inspector.cli.export_files import write_parquet  # noqa: PLC0415 - takes a while to import

        write_parquet(report, target, force=parsed["force"])
        sys.exit(output_files.code_of(report, fail_on))
    side_files.write()
    output_files.write_report(output_files.failing_on(report, fail_on), parsed)
    sys.exit(output_files.code_of(report, fail_on))


def _reports(analysis: Analysis, parsed: dict[str, Any]) -> None:
    """Run an analysis on one or several checkpoints, or only estimate audits; end the process."""
    if parsed.get("estimate"):
        from inspector.analyses.shared.estimate import estimate_audits  # noqa: PLC0415 - few ask for it

        paths, price, recursive = parsed["paths"], parsed["price"], parsed["recursive"]
        options = click_options.api_options(parsed)
        estimated = estimate_audits(paths, options, price, recursive=recursive)
        output_files.write_report(estimated, parsed)
        sys.exit(output_files.code_of(estimated, NEVER))
    if means_many(parsed["paths"], recursive=parsed["recursive"]):
        from inspector.cli.fleets import write_fleet  # noqa: PLC0415 - only where there are several

        write_fleet(analysis, parsed)
    if parsed.get("level") or parsed.get("finding"):
        raise click.UsageError("--level and --finding are for several checkpoints, got one")
    (parsed["path"],) = parsed["paths"]
    _report(analysis, parsed)
