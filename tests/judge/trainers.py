"""trainers.py JUDGE LCPLAN SOURCE_DIR WORK_DIR: what export writes, and what check says, held against the trainer's own code.

JUDGE is torch, megatron or torchtitan. Exit status 77 where the package is not installed. Nothing is downloaded.
"""

import importlib
import json
import pathlib
import re
import subprocess
import sys
import tomllib
import warnings

judge, lcplan, source, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
warnings.simplefilter("ignore")
SKIP = 77


def run(*words, status=0):
    done = subprocess.run([lcplan, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == status, f"lcplan {words}: {done.returncode}, {done.stderr}"
    return done.stdout


def need(*modules):
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"skipped: {module} cannot be imported: {error}")
            sys.exit(SKIP)


def plan(name, trainer, model, cluster, *words):
    path = work / f"{name}.json"
    run("plan", "--quiet", "--for", trainer, "--model", source / f"examples/models/{model}.json", "--cluster", cluster,
        "--max-candidates", 8, "-o", path, *words)
    return path


def judge_torch():
    """The loader and the validation of torch.distributed.pipelining take the CSV, and its 1F1B is ours."""
    need("torch", "torch.distributed.pipelining.schedules")
    import torch.distributed
    from torch.distributed.pipelining import PipelineStage, schedules
    from torch.testing._internal.distributed.fake_pg import FakeStore

    def runtime_of(ranks, microbatches):
        """The schedule of rank 0 as a trainer makes it, in a process group without other processes."""
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        torch.distributed.init_process_group("fake", rank=0, world_size=ranks, store=FakeStore())
        stage = PipelineStage(torch.nn.Linear(2, 2), 0, ranks, torch.device("cpu"))
        return schedules._PipelineScheduleRuntime([stage], microbatches, loss_fn=torch.nn.functional.mse_loss)

    for ranks, batch in ((2, 4), (4, 8), (4, 2)):
        path = plan(f"torch{ranks}-{batch}", "torch-pipelining", "llama-3.2-1b", f"h100-sxm:1x{ranks}", "--pp", ranks,
                    "--sequence-length", 2048, "--global-batch", batch)
        csv = work / f"torch{ranks}-{batch}.csv"
        run("export", "--to", "torch-pipelining", "-o", csv, path)
        microbatches = len(json.loads(path.read_text())["chunks"])
        runtime = runtime_of(ranks, microbatches)
        runtime._load_csv(str(csv), format="compute_only")
        order = runtime.pipeline_order
        owners = schedules._validate_schedule(order, ranks, ranks, microbatches)
        assert owners == {stage: stage for stage in range(ranks)}, owners
        passes = {rank: [action for action in row if action is not None] for rank, row in order.items()}
        own = "fewer micro-batches than their 1F1B takes"
        if microbatches >= ranks:
            # What their 1F1B says of its own order holds for the first rank; for others its helper is off by one.
            stage = PipelineStage(torch.nn.Linear(2, 2), 0, ranks, torch.device("cpu"))
            theirs = schedules.Schedule1F1B(stage, microbatches)._get_pipeline_order()[0]
            kinds = (schedules._ComputationType.FORWARD, schedules._ComputationType.FULL_BACKWARD)
            theirs = [action for action in theirs if action is not None and action.computation_type in kinds]
            assert passes[0] == theirs, (passes[0], theirs)
            own = "rank 0 as their 1F1B"
        sends = schedules._add_send_recv(passes, lambda stage: stage, ranks)  # takes the lists apart
        steps = schedules._simulate_comms_compute(sends, lambda stage: stage, ranks)
        print(f"{ranks} ranks, {microbatches} micro-batches: loaded and validated, {own}; with "
              f"communication, simulated to the end in {max(map(len, steps.values()))} steps")
    broken = {0: [schedules._Action.from_str(word) for word in ("0B0", "0F0")]}
    try:
        schedules._validate_schedule(broken, 1, 1, 1)
    except AssertionError:
        return
    raise AssertionError("the validation takes a backward pass before its forward pass")


def megatron_options(path):
    """Words of the array, as bash reads them, by option."""
    words = subprocess.run(["bash", "-c", f'. "{path}"; printf "%s\\n" "${{MEGATRON_ARGS[@]}}"'], capture_output=True,
                           text=True, check=True).stdout.splitlines()
    options = {}
    for word in words:
        if word.startswith("--"):
            name = word[2:]
            options[name] = []
        else:
            options[name].append(word)
    return options


def megatron_config(options, model):
    import torch
    from megatron.core.transformer.transformer_config import TransformerConfig

    def number(name, default=None):
        return int(options[name][0]) if name in options else default

    pp = number("pipeline-model-parallel-size", 1)
    fields = dict(
        num_layers=model["num_hidden_layers"], hidden_size=model["hidden_size"],
        num_attention_heads=model["num_attention_heads"], num_query_groups=model["num_key_value_heads"],
        tensor_model_parallel_size=number("tensor-model-parallel-size", 1), pipeline_model_parallel_size=pp,
        context_parallel_size=number("context-parallel-size", 1), sequence_parallel="sequence-parallel" in options,
        expert_model_parallel_size=number("expert-model-parallel-size", 1), bf16="bf16" in options,
        pipeline_dtype=torch.bfloat16)
    if "num_experts" in model:
        fields.update(num_moe_experts=model["num_experts"], moe_router_topk=model["num_experts_per_tok"],
                      expert_tensor_parallel_size=number("expert-tensor-parallel-size"), add_bias_linear=False)
    for option, field in (("pipeline-model-parallel-layout", "pipeline_model_parallel_layout"),
                          ("cp-comm-type", "cp_comm_type"), ("recompute-granularity", "recompute_granularity"),
                          ("recompute-method", "recompute_method")):
        if option in options:
            fields[field] = options[option][0]
    if "recompute-num-layers" in options:
        fields["recompute_num_layers"] = number("recompute-num-layers")
    if "recompute-modules" in options:
        fields["recompute_modules"] = options["recompute-modules"]
    if "hierarchical-context-parallel-sizes" in options:
        fields["hierarchical_context_parallel_sizes"] = [int(w) for w in options["hierarchical-context-parallel-sizes"]]
    return TransformerConfig(**fields)


def judge_megatron():
    """Megatron Core's configuration takes what is exported; it refuses the tensor degrees that check refuses."""
    need("torch", "megatron.core.transformer.transformer_config")
    import megatron.core

    version = ".".join(megatron.core.__version__.split(".")[:2])
    target = f"megatron-lm@{version}"
    batch = ("--sequence-length", "16K", "--global-batch", 32)
    for name, model, cluster, words in (
            ("uneven", "llama-3.1-8b", "h100-sxm:3x8", ("--pp", 3)), ("deep", "llama-3.1-8b", "h100-sxm:2x8", ("--pp", 8)),
            ("levels", "llama-3.1-8b", "h100-sxm:2x8", ("--ulysses", 2, "--ring", 2)),
            ("tensor", "qwen3-8b", "h100-sxm:1x8", ("--tp", 4, "--pp", 2)),
            ("experts", "qwen3-30b-a3b", "h100-sxm:2x8", ("--ep", 8, "--tp", 2)),
            ("experts94", "qwen3-235b-a22b", "h100-sxm:16x8", ("--pp", "8,16"))):
        path = plan(name, target, model, cluster, *batch, *words)
        arguments = work / f"{name}.sh"
        run("export", "--to", target, "-o", arguments, path)
        options = megatron_options(arguments)
        facts = json.loads((source / f"examples/models/{model}.json").read_text())
        config = megatron_config(options, facts)
        document = json.loads(path.read_text())
        layout = config.pipeline_model_parallel_layout
        if layout is not None:
            stages = [stage["layer_count"] for stage in document["stages"]]
            flat = [[str(getattr(item, "name", item)) for item in chunk] for rank in layout.layout for chunk in rank]
            assert [sum(item == "decoder" for item in stage) for stage in flat] == stages, (flat, stages)
            layout.validate_layer_layout(facts["num_hidden_layers"], None)
        print(f"{name}: accepted, {' '.join(options.get('pipeline-model-parallel-layout', ['equal stages']))}, "
              f"{' '.join(options.get('cp-comm-type', ['no context parallelism']))}")
    agree = 0
    for model in ("llama-3.1-8b", "qwen2.5-7b", "phi-4", "glm-4-9b-chat", "qwen3-30b-a3b"):
        facts = json.loads((source / f"examples/models/{model}.json").read_text())
        heads = facts["num_attention_heads"]
        groups = facts.get("num_key_value_heads", facts.get("multi_query_group_num"))
        for tp in range(1, 41):
            try:
                megatron_config({"tensor-model-parallel-size": [tp]}, {
                    "num_hidden_layers": 4, "hidden_size": heads * 64, "num_attention_heads": heads,
                    "num_key_value_heads": groups})
                accepted = True
            except (ValueError, AssertionError):
                accepted = False
            done = subprocess.run([lcplan, "check", "--json", "--for", target, "--tp", str(tp), "--model",
                                   str(source / f"examples/models/{model}.json")], capture_output=True, text=True)
            rules = {row["rule"] for row in json.loads(done.stdout)["broken"]}
            assert accepted == (not rules & {"H1", "H2"}), (model, tp, accepted, rules)
            agree += 1
    print(f"{target}: {agree} tensor degrees judged alike")


def judge_torchtitan():
    """torchtitan's configuration classes take the Python that is exported, with the plan's degrees."""
    need("torchtitan.config.configs", "torchtitan.distributed.activation_checkpoint")
    from torchtitan.distributed import pipeline_parallel

    for name, words in (("fsdp", ("--pp", 1)), ("pipeline", ("--pp", 2)), ("deep", ("--pp", 4, "--recompute", "full"))):
        path = plan(name, "torchtitan@0.3", "llama-3.1-8b", "h100-sxm:2x8", "--sequence-length", "16K", "--global-batch",
                    32, *words)
        text = run("export", "--to", "torchtitan@0.3", path)
        scope = {}
        exec(compile(text, f"{name}.py", "exec"), scope)  # the file is a program: it builds the configuration objects
        document = json.loads(path.read_text())
        degrees = document["parallelism"]
        parallelism, training = scope["parallelism"], scope["training"]
        assert parallelism.data_parallel_shard_degree * parallelism.data_parallel_replicate_degree == degrees["dp"]
        assert parallelism.tensor_parallel_degree == degrees["tp"]
        assert parallelism.pipeline_parallel_degree == degrees["pp"]
        assert training.global_batch_size == 32 and training.seq_len == 16384
        dims = importlib.import_module("torchtitan.distributed.parallel_dims").ParallelDims
        dims(dp_replicate=parallelism.data_parallel_replicate_degree, dp_shard=parallelism.data_parallel_shard_degree,
             cp=parallelism.context_parallel_degree, tp=parallelism.tensor_parallel_degree,
             pp=parallelism.pipeline_parallel_degree, ep=parallelism.expert_parallel_degree, world_size=16)
        toml = tomllib.loads(run("export", "--to", "torchtitan@0.2", path))
        for key, value in toml["parallelism"].items():
            if key != "module_fqns_per_model_part":
                assert getattr(parallelism, key) == value, key
        if degrees["pp"] > 1:
            parts = parallelism.module_fqns_per_model_part
            layers = [re.match(r"layers\.(\d+)", word) for part in parts for word in part]
            assert [int(m.group(1)) for m in layers if m] == list(range(32)), parts
            assert parts[0][0] == "tok_embeddings" and parts[-1][-2:] == ["norm", "lm_head"]
            own = [word for part in pipeline_parallel._generate_llm_fqn_per_model_part(degrees["pp"], 32) for word in part] \
                if hasattr(pipeline_parallel, "_generate_llm_fqn_per_model_part") else None
            assert own is None or own == [word for part in parts for word in part], own
        print(f"{name}: accepted, {text.count('layers.')} layers named, {scope['activation_checkpoint']}")


work.mkdir(parents=True, exist_ok=True)
{"torch": judge_torch, "megatron": judge_megatron, "torchtitan": judge_torchtitan}[judge]()
